// A class 0 echo of com.beanit.jositransport, or a client of one: a peer for the tests.
// (What receive fills lies between position and limit when it returns.)

import com.beanit.jositransport.ClientTSap;
import com.beanit.jositransport.ServerTSap;
import com.beanit.jositransport.TConnection;
import com.beanit.jositransport.TConnectionListener;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.util.Arrays;

final class Echo implements TConnectionListener {
    public static void main(String[] arguments) throws Exception {
        InetAddress here = InetAddress.getByName("127.0.0.1");
        int port = Integer.parseInt(arguments[1]);
        if (arguments[0].equals("server")) {
            new ServerTSap(port, 20, here, new Echo()).startListening();
            System.out.println("listening");
            Thread.sleep(30_000);
            System.exit(0);
        }
        ClientTSap client = new ClientTSap();
        client.tSelLocal = new byte[] {0, 1};
        client.tSelRemote = new byte[] {0, 1};
        TConnection connection = client.connectTo(here, port);
        byte[] sent = new byte[20_000];
        Arrays.fill(sent, (byte) 0x5A);
        connection.setMessageTimeout(5_000);
        connection.send(sent, 0, sent.length);
        ByteBuffer buffer = ByteBuffer.allocate(65_536);
        connection.receive(buffer);
        byte[] received = new byte[buffer.remaining()];
        buffer.get(received);
        System.out.println(Arrays.equals(sent, received) ? "echoed" : "differs");
        connection.disconnect();
    }

    @Override
    public void connectionIndication(TConnection connection) {
        try {
            connection.setMessageTimeout(5_000);
            ByteBuffer buffer = ByteBuffer.allocate(65_536);
            while (true) {
                buffer.clear();
                connection.receive(buffer);
                byte[] octets = new byte[buffer.remaining()];
                buffer.get(octets);
                connection.send(octets, 0, octets.length);
            }
        } catch (Exception over) {
            connection.close();
        }
    }

    @Override
    public void serverStoppedListeningIndication(IOException reason) {}
}
