"""How long logs and metrics stay.  The server's clock is what changes, not the time of the test."""

from fixture import SERVICES, Case, until
from wire import properties

DAY = 24 * 3600

class Retention(Case):
    def fill(self, **what):
        """Logs and rows of all services, of now."""
        for service in SERVICES:
            self.set(service, log="rwd", hour=True, minute=True, **what)
        self.queue.ask("ListQueues", "GET", "/?comp=list")
        self.blob.ask("ListContainers", "GET", "/?comp=list")
        self.logged(self.seen)
        for service in SERVICES:
            for span in ("Hour", "Minute"):
                until("rows", lambda table=self.name(span, service): self.rows(table))
        until("capacity", lambda: self.rows("$MetricsCapacityBlob"))

    def name(self, span, service):
        return f"$Metrics{span}PrimaryTransactions{service.title()}"

    def kept(self):
        """What there is, by kind: the logs, and the partitions of the rows."""
        found = {("log", service): set(self.logs(f"{service}/")) for service in SERVICES}
        for service in SERVICES:
            for span in ("Hour", "Minute"):
                found[span, service] = {key for key, _ in self.rows(self.name(span, service))}
        found["Capacity", "blob"] = {key for key, _ in self.rows("$MetricsCapacityBlob")}
        return found

    def off(self, **what):
        for service in SERVICES:
            self.wire(service).ask("", "PUT", "/?restype=service&comp=properties",
                                   properties(**what))

    def test_what_is_older_goes_and_what_is_younger_stays(self):
        self.fill()
        # Retention goes on while logging and metrics are off.
        self.off(log_days=2, metrics_days=5)
        self.restart()
        old = self.kept()
        self.assertTrue(all(old.values()), old)
        self.restart(ahead_s=DAY)
        self.assertEqual(self.kept(), old, "a day later")
        self.restart(ahead_s=3 * DAY)
        until("logs are gone", lambda: not any(
            names for (kind, _), names in self.kept().items() if kind == "log"))
        self.assertEqual({key: names for key, names in self.kept().items() if key[0] != "log"},
                         {key: names for key, names in old.items() if key[0] != "log"})
        self.restart(ahead_s=7 * DAY)
        until("rows are gone", lambda: not any(self.kept().values()))

    def test_without_a_policy_everything_stays(self):
        self.fill()
        self.off()
        self.restart()
        old = self.kept()
        self.restart(ahead_s=20 * DAY)
        self.assertEqual(self.kept(), old)

    def test_each_service_has_its_own_policy(self):
        self.fill()
        self.off()
        self.queue.ask("", "PUT", "/?restype=service&comp=properties", properties(log_days=1))
        self.restart()
        old = self.kept()
        self.restart(ahead_s=3 * DAY)
        until("logs of queues are gone", lambda: not self.logs("queue/"))
        self.assertEqual(self.kept(), {**old, ("log", "queue"): set()})

    def test_what_is_new_is_written_while_the_old_goes(self):
        self.fill(log_days=1, metrics_days=1)
        old = self.kept()
        self.restart(ahead_s=3 * DAY)
        seen = self.table.ask("QueryTables", "GET", "/Tables")
        self.logged([seen])
        until("only what is new", lambda: not any(
            names & old[key] for key, names in self.kept().items()))
        self.logged([seen])
