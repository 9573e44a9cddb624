// The Table Design Guide's example: employees and departments in one table.

public class Employee : TableEntity
{
    public string EntityType { get; set; } = "Employee";
    public string FirstName { get; set; }
    public string LastName { get; set; }
    public int Age { get; set; }
    public string Email { get; set; }

    public Employee() { }

    public Employee(string department, string lastName, int age = 30)
        : base(department, lastName)
    {
        LastName = lastName;
        Age = age;
        Email = $"{lastName.ToLowerInvariant()}@contoso.com";
    }
}

public class Department : TableEntity
{
    public string EntityType { get; set; } = "Department";
    public string DepartmentName { get; set; }
    public int EmployeeCount { get; set; }
}

/// <summary>An account and tables of a case's own.</summary>
public class Staff
{
    public static readonly string Connection = Environment.GetEnvironmentVariable("TAVOLA_CONNECTION");
    static int tables;

    public static CloudTableClient Client(string connection = null) =>
        CloudStorageAccount.Parse(connection ?? Connection).CreateCloudTableClient();

    /// <summary>The account with its secondary endpoint.</summary>
    public static CloudTableClient Replicated()
    {
        var client = Client();
        var primary = client.BaseUri.ToString().TrimEnd('/');
        return new CloudTableClient(new StorageUri(new Uri(primary), new Uri(primary + "-secondary")), client.Credentials);
    }

    public static string Name() => $"Staff{Interlocked.Increment(ref tables)}x{Guid.NewGuid():N}";

    public static CloudTable Table(CloudTableClient client = null)
    {
        var table = (client ?? Client()).GetTableReference(Name());
        table.Create();
        return table;
    }

    /// <summary>A table with these employees in Sales, and the department.</summary>
    public static CloudTable Sales(params string[] lastNames)
    {
        var table = Table();
        var batch = new TableBatchOperation();
        foreach (var name in lastNames)
            batch.Insert(new Employee("Sales", name));
        batch.Insert(new Department { PartitionKey = "Sales", RowKey = "Department", DepartmentName = "Sales", EmployeeCount = lastNames.Length });
        table.ExecuteBatch(batch);
        return table;
    }

    /// <summary>A table with so many employees of a department, in the order of their row keys.</summary>
    public static CloudTable Many(string department, int count)
    {
        var table = Table();
        for (var first = 0; first < count; first += 100)
        {
            var batch = new TableBatchOperation();
            for (var n = first; n < Math.Min(count, first + 100); n++)
                batch.Insert(new Employee(department, $"{n:d5}", n % 60));
            table.ExecuteBatch(batch);
        }
        return table;
    }

    public static string In(string department) =>
        TableQuery.GenerateFilterCondition("PartitionKey", QueryComparisons.Equal, department);

    public static string Rows(string from, string to) => TableQuery.CombineFilters(
        TableQuery.GenerateFilterCondition("RowKey", QueryComparisons.GreaterThanOrEqual, from), TableOperators.And,
        TableQuery.GenerateFilterCondition("RowKey", QueryComparisons.LessThan, to));

    public static T Read<T>(CloudTable table, string partition, string row) where T : class, ITableEntity =>
        (T)table.Execute(TableOperation.Retrieve<T>(partition, row)).Result;

    /// <summary>The answer to what must not go well.</summary>
    public static StorageException Refused(int status, string code, Action action)
    {
        try
        {
            action();
        }
        catch (StorageException trouble)
        {
            Check.Equal(status, trouble.RequestInformation.HttpStatusCode, "the status");
            if (code != null)
                Check.Equal(code, trouble.RequestInformation.ExtendedErrorInformation?.ErrorCode, "the error");
            return trouble;
        }
        throw new WrongException($"{status} {code} did not come");
    }
}
