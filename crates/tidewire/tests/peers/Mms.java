import com.beanit.openiec61850.BasicDataAttribute;
import com.beanit.openiec61850.BdaFloat32;
import com.beanit.openiec61850.ClientAssociation;
import com.beanit.openiec61850.ClientEventListener;
import com.beanit.openiec61850.ClientSap;
import com.beanit.openiec61850.Fc;
import com.beanit.openiec61850.FcModelNode;
import com.beanit.openiec61850.Report;
import com.beanit.openiec61850.SclParser;
import com.beanit.openiec61850.ServerEventListener;
import com.beanit.openiec61850.ServerModel;
import com.beanit.openiec61850.ServerSap;
import com.beanit.openiec61850.ServiceError;
import java.io.IOException;
import java.net.InetAddress;
import java.util.List;

/**
 * An MMS peer of openiec61850: "server PORT MODEL" prints "listening" and serves for a minute; "client PORT" retrieves
 * the model, reads a variable 100 times, and prints "read 100 VALUE".
 */
public class Mms {
    static class Quiet implements ServerEventListener, ClientEventListener {
        public List<ServiceError> write(List<BasicDataAttribute> attributes) {
            return null;
        }

        public void serverStoppedListening(ServerSap sap) {}

        public void newReport(Report report) {}

        public void associationClosed(IOException error) {}
    }

    public static void main(String[] words) throws Exception {
        int port = Integer.parseInt(words[1]);
        InetAddress here = InetAddress.getByName("127.0.0.1");
        if (words[0].equals("server")) {
            ServerModel model = SclParser.parse(words[2]).get(0);
            ServerSap sap = new ServerSap(port, 5, here, model, null);
            sap.startListening(new Quiet());
            System.out.println("listening");
            Thread.sleep(60_000);
            System.exit(0);
        }
        ClientAssociation association = new ClientSap().associate(here, port, null, new Quiet());
        ServerModel model = association.retrieveModel();
        FcModelNode node = (FcModelNode) model.findModelNode("FEEDLD0/MMXU1.TotW.mag.f", Fc.MX);
        long begin = System.nanoTime();
        for (int turn = 0; turn < 100; turn++) {
            association.getDataValues(node);
        }
        long mean = (System.nanoTime() - begin) / 100_000;
        System.out.println("read 100 " + ((BdaFloat32) node).getFloat() + " of FEEDLD0, mean " + mean + " us");
        association.disconnect();
        System.exit(0);
    }
}
