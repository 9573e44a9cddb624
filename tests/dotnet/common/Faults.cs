// The network between a client and the server, and what it does to their talk: tests/lib/fault_proxy.py.
using System.Net.Sockets;

/// <summary>Its control port.  Begins and ends with nothing planned.</summary>
sealed class Faults : IDisposable
{
    /// <summary>A connection string whose endpoints are the proxies.</summary>
    public static readonly string Connection = Environment.GetEnvironmentVariable("TAVOLA_FAULTY");

    readonly TcpClient talk = new("127.0.0.1", int.Parse(Environment.GetEnvironmentVariable("TAVOLA_FAULT_CONTROL")));
    readonly StreamReader reader;

    public Faults(params string[] plans)
    {
        reader = new StreamReader(talk.GetStream());
        Do("CLEAR");
        foreach (var plan in plans)
            Do($"PLAN {plan}");
    }

    public List<string> Do(string command)
    {
        talk.GetStream().Write(System.Text.Encoding.UTF8.GetBytes(command + "\n"));
        var lines = new List<string>();
        for (;;)
        {
            var line = reader.ReadLine() ?? throw new WrongException("the proxy has ended");
            if (line.StartsWith("ERR"))
                throw new WrongException($"{command}: {line}");
            if (line.StartsWith("OK"))
                return lines;
            lines.Add(line);
        }
    }

    /// <summary>How many requests came since the plans were made.</summary>
    public int Requests => Do("LOG").Count;

    public void Dispose()
    {
        Do("CLEAR");
        talk.Dispose();
    }
}
