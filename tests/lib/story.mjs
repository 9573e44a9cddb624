// What a test has sent and got, for whoever has to find out why it failed: the requests since it
// began, shown when it fails.  Loaded before the tests of a file (javascript.py).
import { subscribe } from "node:diagnostics_channel";
import { afterEach, beforeEach } from "node:test";

const SHOWN = 12;
let exchanges = [];

subscribe("http.client.request.start", ({ request }) => {
  exchanges.push({ request });
  if (exchanges.length > SHOWN) exchanges.shift();
});

subscribe("http.client.response.finish", ({ request, response }) => {
  const exchange = exchanges.find((one) => one.request === request);
  if (exchange) exchange.response = response;
});

const line = ({ request, response }) => {
  const code = response?.headers["x-ms-error-code"] ?? "";
  const answer = response ? `${response.statusCode} ${code}` : "no answer";
  return `${request.method} ${request.getHeader("host")}${request.path} -> ${answer}`;
};

beforeEach(() => {
  exchanges = [];
});

afterEach((t) => {
  // Older nodes do not say here whether it has passed.
  if (t?.passed !== false) return;
  for (const exchange of exchanges) t.diagnostic(`request: ${line(exchange)}`);
});
