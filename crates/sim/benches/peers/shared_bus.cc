// The scenario of ../shared_bus.rs in ns-3: ten Poisson stations and one that reports every 20 ms,
// on a bus of 10 Mbit/s. Frames go straight into the devices, below any protocol.
//
// ns-3's CSMA channel never collides: a device senses the true state of the channel, without
// propagation delay, and backs off by itself. It charges neither preamble nor gap between frames.
//
// Called with a number of simulated seconds; prints "frames sent, frames received, CPU seconds,
// events" on one line.

#include "ns3/core-module.h"
#include "ns3/csma-module.h"
#include "ns3/network-module.h"

#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <memory>
#include <vector>

using namespace ns3;

namespace
{

constexpr uint32_t BACKGROUND = 10;
constexpr uint32_t DATA_OCTETS = 200;
// 50 % of 10^7 bits per second, in frames of 218 octets.
constexpr double FRAMES_PER_SECOND = 0.5 * 1e7 / (218.0 * 8.0);
// Any protocol number will do: nothing above the device looks at it.
constexpr uint16_t PROTOCOL = 0x88B5;

uint64_t g_sent = 0;
uint64_t g_received = 0;

struct Sender
{
    Ptr<NetDevice> device;
    Address peer;
    // For random intervals; constant ones of 20 ms without it.
    Ptr<ExponentialRandomVariable> interval;

    void Send()
    {
        g_sent += device->Send(Create<Packet>(DATA_OCTETS), peer, PROTOCOL) ? 1 : 0;
        const Time wait = interval ? Seconds(interval->GetValue()) : MilliSeconds(20);
        Simulator::Schedule(wait, &Sender::Send, this);
    }
};

bool
Receive(Ptr<NetDevice>, Ptr<const Packet>, uint16_t, const Address&)
{
    ++g_received;
    return true;
}

} // namespace

int
main(int argc, char* argv[])
{
    const double seconds = argc > 1 ? std::atof(argv[1]) : 0.0;
    if (seconds <= 0.0)
    {
        std::cerr << "usage: shared_bus SECONDS\n";
        return 2;
    }
    NodeContainer nodes;
    nodes.Create(BACKGROUND + 1);
    CsmaHelper csma;
    csma.SetChannelAttribute("DataRate", DataRateValue(DataRate("10Mbps")));
    // 500 m of coaxial cable at 0.77 c.
    csma.SetChannelAttribute("Delay", TimeValue(NanoSeconds(2166)));
    const NetDeviceContainer devices = csma.Install(nodes);
    std::vector<std::unique_ptr<Sender>> senders;
    for (uint32_t i = 0; i <= BACKGROUND; ++i)
    {
        devices.Get(i)->SetReceiveCallback(MakeCallback(&Receive));
        auto sender = std::make_unique<Sender>();
        sender->device = devices.Get(i);
        sender->peer = devices.Get((i + 1) % BACKGROUND)->GetAddress();
        if (i < BACKGROUND)
        {
            sender->interval = CreateObject<ExponentialRandomVariable>();
            sender->interval->SetAttribute("Mean", DoubleValue(BACKGROUND / FRAMES_PER_SECOND));
        }
        Simulator::Schedule(Seconds(0), &Sender::Send, sender.get());
        senders.push_back(std::move(sender));
    }
    Simulator::Stop(Seconds(seconds));
    const std::clock_t before = std::clock();
    Simulator::Run();
    const double took = static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
    const uint64_t events = Simulator::GetEventCount();
    Simulator::Destroy();
    std::cout << g_sent << ' ' << g_received << ' ' << took << ' ' << events << '\n';
    return 0;
}
