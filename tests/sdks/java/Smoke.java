import java.util.Objects;

/**
 * Every operation of the three services with the clients for Java.  Prints "ok NAME" or "FAILED
 * NAME: why" for each; tests/sdks/run.py counts the lines.
 */
public class Smoke {
    static final String CONNECTION = System.getenv("TAVOLA_CONNECTION");

    interface Step {
        void run() throws Exception;
    }

    static void check(String name, Step step) {
        try {
            step.run();
            System.out.println("ok " + name);
        } catch (Throwable trouble) {
            String why = String.valueOf(trouble).replaceAll("\\s+", " ");
            System.out.println("FAILED " + name + ": " + why.substring(0, Math.min(500, why.length())));
        }
    }

    static void same(Object wanted, Object got) {
        if (!Objects.equals(String.valueOf(wanted), String.valueOf(got)))
            throw new AssertionError(got + " instead of " + wanted);
    }

    /** The step must be refused with this text (a status and a code) in what the client says. */
    static void refused(int status, String code, Step step) {
        try {
            step.run();
        } catch (Throwable trouble) {
            String text = String.valueOf(trouble);
            if (text.contains(code) && statusOf(trouble) == status)
                return;
            throw new AssertionError(status + " " + code + " was expected, not " + text, trouble);
        }
        throw new AssertionError(status + " " + code + " was expected, and it went well");
    }

    private static int statusOf(Throwable trouble) {
        if (trouble instanceof com.azure.core.exception.HttpResponseException)
            return ((com.azure.core.exception.HttpResponseException) trouble).getResponse().getStatusCode();
        return 0;
    }

    public static void main(String[] arguments) {
        Tables.run();
        Queues.run();
        Blobs.run();
        System.exit(0); // the client's threads would go on
    }
}
