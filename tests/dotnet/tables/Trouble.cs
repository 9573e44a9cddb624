// A network and a server that do not do what they should.

public class Trouble : Staff
{
    static readonly TableRequestOptions Patient = new() { RetryPolicy = new LinearRetry(TimeSpan.FromMilliseconds(1), 5) };

    static CloudTable Faulty(CloudTable table) => Client(Faults.Connection).GetTableReference(table.Name);

    [Case]
    public void A_busy_server_is_asked_again()
    {
        var table = Faulty(Sales("Adams"));
        foreach (var status in new[] { 500, 503 })
        {
            using var faults = new Faults($"status {status} times 2");
            Check.That(table.Execute(TableOperation.Retrieve<Employee>("Sales", "Adams"), Patient).Result != null, "read");
            Check.Equal(3, faults.Requests, $"{status}");
            faults.Do($"PLAN status {status} on 4 times 2");
            table.Execute(TableOperation.InsertOrReplace(new Employee("Sales", "Adams", status)), Patient);
            Check.Equal(6, faults.Requests, $"{status}");
            faults.Do($"PLAN status {status} on 7 times 2");
            Check.Equal(2, table.ExecuteQuery(new TableQuery<DynamicTableEntity>().Where(In("Sales")), Patient).Count());
            Check.Equal(9, faults.Requests, $"{status}");
        }
    }

    [Case]
    public void A_cut_connection_is_asked_again()
    {
        var table = Faulty(Sales("Adams"));
        using var faults = new Faults("cut_request 20 fin", "cut_answer 0 fin");
        Check.That(table.Execute(TableOperation.Retrieve<Employee>("Sales", "Adams"), Patient).Result != null, "read");
        Check.That(faults.Requests >= 2, "asked again");
    }

    [Case]
    public void An_insert_that_was_done_and_not_answered_is_a_conflict()
    {
        var table = Faulty(Table());
        using var faults = new Faults("status 503 forward");
        var context = new OperationContext();
        try
        {
            table.Execute(TableOperation.Insert(new Employee("Sales", "Adams")), Patient, context);
            throw new WrongException("the second try was taken for the first");
        }
        catch (StorageException trouble)
        {
            Check.Equal(409, trouble.RequestInformation.HttpStatusCode);
        }
        Check.Sequence([503, 409], context.RequestResults.Select(one => one.HttpStatusCode));
    }

    [Case]
    public void No_policy_asks_once()
    {
        var table = Faulty(Sales("Adams"));
        using var faults = new Faults("status 503 always");
        try
        {
            table.Execute(TableOperation.Retrieve<Employee>("Sales", "Adams"), new TableRequestOptions { RetryPolicy = new NoRetry() });
            throw new WrongException("503 was no error");
        }
        catch (StorageException trouble)
        {
            Check.Equal(503, trouble.RequestInformation.HttpStatusCode);
        }
        Check.Equal(1, faults.Requests);
    }

    [Case]
    public async Task A_call_is_cancelled_while_it_waits()
    {
        var table = Faulty(Sales("Adams"));
        using var faults = new Faults("hold_request");
        using var cancel = new CancellationTokenSource();
        var call = table.ExecuteAsync(TableOperation.Retrieve<Employee>("Sales", "Adams"), null, null, cancel.Token);
        faults.Do("HELD");
        cancel.Cancel();
        try
        {
            await call;
            throw new WrongException("it was answered");
        }
        catch (Exception trouble) when (trouble is OperationCanceledException or StorageException)
        {
            Check.That(cancel.IsCancellationRequested, "it was cancelled");
        }
        finally
        {
            faults.Do("RELEASE");
        }
        Check.That(table.Execute(TableOperation.Retrieve<Employee>("Sales", "Adams")).Result != null, "the next call is fine");
    }
}
