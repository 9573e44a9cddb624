"""deploy/: what is named there exists: metrics, flags, paths of the admin port, ports, the image's user."""

import importlib.util
import json
import os
import pathlib
import re
import subprocess
import unittest
import urllib.error
import urllib.request

import yaml
from server import Server, binary
from table_client import Client

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
METRIC = re.compile(r"\btavola_[a-z0-9_]+")
SUFFIX = re.compile(r"_(bucket|sum|count)$")


def documents(name):
    return [one for one in yaml.safe_load_all((DEPLOY / name).read_text()) if one]


def image_settings():
    spec = importlib.util.spec_from_file_location("image", ROOT / "tools/image.py")
    image = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(image)
    return image


class Deploy(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = cls.enterClassContext(Server(engine="rocksdb"))
        client = Client(cls.server.table_port)
        assert client.create_table("Any").status == 204
        client.close()
        cls.metrics = cls.get("/metrics")
        cls.help = subprocess.run([binary(), "--help"], check=True, text=True,
                                  stdout=subprocess.PIPE).stdout

    @classmethod
    def get(cls, path):
        with urllib.request.urlopen(cls.server.admin_url + path, timeout=60) as reply:
            return reply.read().decode()

    def test_every_metric_exists_with_the_labels_that_are_used(self):
        kinds = dict(re.findall(r"^# TYPE (\S+) (\S+)$", self.metrics, re.MULTILINE))
        for name in ("prometheus-alerts.yaml", "grafana-dashboard.json"):
            text = (DEPLOY / name).read_text()
            used = set(METRIC.findall(text))
            self.assertGreater(len(used), 5)
            for metric in used:
                base = SUFFIX.sub("", metric)
                self.assertIn(base if kinds.get(base) == "histogram" else metric, kinds, name)
        for metric, label in (("requests_total", "operation"), ("requests_total", "status"),
                              ("queries_total", "plan"), ("queries_examined_total", "plan"),
                              ("body_bytes_total", "service"), ("body_bytes_total", "direction")):
            found = re.search(rf'^tavola_{metric}\{{[^}}]*\b{label}="', self.metrics, re.MULTILINE)
            self.assertIsNotNone(found, f"{metric} by {label}")

    def test_the_rules_and_the_dashboard_can_be_read(self):
        for rule in documents("prometheus-alerts.yaml")[0]["groups"][0]["rules"]:
            self.assertEqual(set(rule) - {"for"}, {"alert", "expr", "labels", "annotations"})
            self.assertIn(rule["labels"]["severity"], ("warning", "critical"))
        dashboard = json.loads((DEPLOY / "grafana-dashboard.json").read_text())
        ids = [panel["id"] for panel in dashboard["panels"]]
        self.assertEqual(len(ids), len(set(ids)))
        self.assertEqual([one["name"] for one in dashboard["templating"]["list"]],
                         ["datasource", "job", "instance"])

    def container(self):
        found = [one for one in documents("kubernetes.yaml") if one["kind"] == "StatefulSet"]
        return found[0]["spec"]["template"]["spec"]["containers"][0], found[0]

    def test_every_variable_is_a_flag(self):
        container, _ = self.container()
        names = [one["name"] for one in container["env"]]
        names += documents("compose.yaml")[0]["services"]["storage"]["environment"]
        names += image_settings().ENVIRONMENT
        for name in names:
            if name.startswith("TAVOLA_"):
                flag = "--" + name.removeprefix("TAVOLA_").lower().replace("_", "-")
                self.assertRegex(self.help, rf"(?m)^  {flag} ")

    def test_the_probes_ask_for_what_is_answered(self):
        container, _ = self.container()
        ports = {one["name"]: one["containerPort"] for one in container["ports"]}
        self.assertEqual(ports, {"blob": 10000, "queue": 10001, "table": 10002, "admin": 10003})
        for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
            asked = container[probe]["httpGet"]
            self.assertEqual(asked["port"], "admin")
            self.get(asked["path"])  # an error of 4xx or 5xx raises

    def test_it_runs_as_the_images_user_and_may_write_to_its_volume_alone(self):
        container, stateful = self.container()
        context = stateful["spec"]["template"]["spec"]["securityContext"]
        user = image_settings().USER
        self.assertEqual((context["runAsUser"], context["fsGroup"]), (user, user))
        self.assertTrue(container["securityContext"]["readOnlyRootFilesystem"])
        self.assertEqual([one["mountPath"] for one in container["volumeMounts"]
                          if not one.get("readOnly")], ["/data"])


if __name__ == "__main__":
    unittest.main()
