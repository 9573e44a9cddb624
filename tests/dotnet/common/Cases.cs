// The main program of every project here: runs the methods that are marked [Case], all or those that are named.
using System.Reflection;

[AttributeUsage(AttributeTargets.Method)]
sealed class CaseAttribute : Attribute;

/// <summary>A case was wrong; says how.</summary>
sealed class WrongException(string why) : Exception(why);

static class Cases
{
    static async Task<int> Main(string[] names)
    {
        var failed = 0;
        foreach (var method in Assembly.GetExecutingAssembly().GetTypes().SelectMany(type => type.GetMethods()))
        {
            if (method.GetCustomAttribute<CaseAttribute>() == null || (names.Length > 0 && !names.Contains(method.Name)))
                continue;
            try
            {
                var result = method.Invoke(Activator.CreateInstance(method.DeclaringType!), null);
                if (result is Task task)
                    await task;
                Console.WriteLine($"ok {method.Name}");
            }
            catch (Exception trouble)
            {
                failed++;
                var story = (trouble is TargetInvocationException ? trouble.InnerException : trouble)!.ToString();
                Console.WriteLine($"FAILED {method.Name}: {string.Join(" ", story.Split((char[])null, StringSplitOptions.RemoveEmptyEntries))}");
            }
        }
        return failed == 0 ? 0 : 1;
    }
}

static class Check
{
    public static void Equal<T>(T wanted, T got, string what = "")
    {
        if (!EqualityComparer<T>.Default.Equals(wanted, got))
            throw new WrongException($"{what} should be '{wanted}' and is '{got}'");
    }

    public static void Sequence<T>(IEnumerable<T> wanted, IEnumerable<T> got) =>
        Equal(string.Join(" ", wanted), string.Join(" ", got));

    public static void That(bool holds, string what)
    {
        if (!holds)
            throw new WrongException($"not so: {what}");
    }
}
