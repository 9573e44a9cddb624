"""Access policies of tables and properties of the service."""

from datetime import datetime, timezone

from azure.data.tables import (TableAccessPolicy, TableAnalyticsLogging, TableCorsRule,
                               TableMetrics, TableRetentionPolicy)

from helpers import SECOND, Case, connect, table_name


class Policies(Case):
    def test_a_table_has_none_at_first(self):
        table = self.service.create_table(table_name())
        self.assertEqual(table.get_table_access_policy(), {})
        table.delete_table()

    def test_policies_come_back(self):
        start = datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone.utc)
        expiry = datetime(2026, 2, 3, tzinfo=timezone.utc)
        self.table.set_table_access_policy({
            "full": TableAccessPolicy(start=start, expiry=expiry, permission="raud"),
            "read": TableAccessPolicy(permission="r"),
            "until": TableAccessPolicy(expiry=expiry),
        })
        policies = self.table.get_table_access_policy()
        self.assertEqual(list(policies), ["full", "read", "until"])
        self.assertEqual(policies["full"].permission, "raud")
        self.assertEqual(policies["full"].start, start)
        self.assertEqual(policies["full"].expiry, expiry)
        self.assertEqual(policies["read"].permission, "r")
        self.assertIsNone(policies["read"].expiry)
        self.assertEqual(policies["until"].expiry, expiry)

    def test_a_policy_may_be_a_name_alone(self):
        self.table.set_table_access_policy({"empty": None, "also": TableAccessPolicy()})
        self.assertEqual(sorted(self.table.get_table_access_policy()), ["also", "empty"])

    def test_no_policies_are_sent_as_no_document_and_clear_them(self):
        # This SDK announces XML and sends nothing.
        self.table.set_table_access_policy({"p": TableAccessPolicy(permission="r")})
        self.table.set_table_access_policy({})
        self.assertEqual(list(self.table.get_table_access_policy()), [])

    def test_more_than_five_are_refused(self):
        # The SDK makes a ValueError of the service's InvalidXmlDocument.
        five = {str(i): TableAccessPolicy(permission="r") for i in range(5)}
        self.table.set_table_access_policy(five)
        with self.assertRaisesRegex(ValueError, "Too many"):
            self.table.set_table_access_policy({**five, "6": TableAccessPolicy()})
        self.assertEqual(len(self.table.get_table_access_policy()), 5)

    def test_permissions_that_tables_do_not_have_are_refused(self):
        self.refused(400, "InvalidXmlNodeValue", self.table.set_table_access_policy,
                     {"p": TableAccessPolicy(permission="rw")})

    def test_they_are_gone_when_the_table_comes_again(self):
        table = self.service.create_table(table_name())
        table.set_table_access_policy({"p": TableAccessPolicy(permission="r")})
        table.delete_table()
        self.refused(404, "TableNotFound", table.get_table_access_policy)
        table.create_table()
        self.assertEqual(table.get_table_access_policy(), {})
        table.delete_table()


class Properties(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.account = connect(SECOND)

    @classmethod
    def tearDownClass(cls):
        cls.account.close()
        super().tearDownClass()

    def test_properties_come_back_and_what_is_left_out_stays(self):
        self.account.set_service_properties(
            analytics_logging=TableAnalyticsLogging(
                read=True, write=False, delete=True,
                retention_policy=TableRetentionPolicy(enabled=True, days=5)),
            hour_metrics=TableMetrics(
                enabled=True, include_apis=True,
                retention_policy=TableRetentionPolicy(enabled=True, days=365)),
            minute_metrics=TableMetrics(enabled=False),
            cors=[])
        self.account.set_service_properties(minute_metrics=TableMetrics(
            enabled=True, include_apis=False, retention_policy=TableRetentionPolicy(enabled=False)))

        got = self.account.get_service_properties()
        logging, hour, minute = (got["analytics_logging"], got["hour_metrics"],
                                 got["minute_metrics"])
        self.assertEqual((logging.version, logging.read, logging.write, logging.delete),
                         ("1.0", True, False, True))
        self.assertEqual((logging.retention_policy.enabled, logging.retention_policy.days),
                         (True, 5))
        self.assertEqual((hour.enabled, hour.include_apis, hour.retention_policy.days),
                         (True, True, 365))
        self.assertEqual((minute.enabled, minute.include_apis, minute.retention_policy.enabled),
                         (True, False, False))
        self.assertEqual(got["cors"], [])

    def test_rules_for_browsers_come_back(self):
        self.account.set_service_properties(cors=[
            TableCorsRule(["http://a.example"], ["GET"]),
            TableCorsRule(["*"], ["GET", "PUT"], max_age_in_seconds=500,
                          exposed_headers=["x-ms-meta-source*", "x-ms-meta-abc"],
                          allowed_headers=["x-ms-meta-data*", "x-ms-meta-xyz"])])
        first, second = self.account.get_service_properties()["cors"]
        self.assertEqual((first.allowed_origins, first.allowed_methods, first.max_age_in_seconds),
                         (["http://a.example"], ["GET"], 0))
        self.assertEqual((second.allowed_origins, second.allowed_methods),
                         (["*"], ["GET", "PUT"]))
        self.assertEqual(second.allowed_headers, ["x-ms-meta-xyz", "x-ms-meta-data*"])
        self.assertEqual(second.exposed_headers, ["x-ms-meta-abc", "x-ms-meta-source*"])
        self.account.set_service_properties(cors=[])

    def test_what_goes_beyond_the_limits_is_refused(self):
        self.refused(400, "InvalidXmlDocument", self.account.set_service_properties,
                     hour_metrics=TableMetrics(
                         enabled=True, include_apis=True,
                         retention_policy=TableRetentionPolicy(enabled=True, days=366)))
        self.refused(400, "InvalidXmlDocument", self.account.set_service_properties,
                     cors=[TableCorsRule(["*"], ["GET"]) for _ in range(6)])
