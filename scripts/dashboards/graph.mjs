import { DashboardBuilder, DatasourceVariableBuilder, DashboardLinkBuilder, DashboardLinkType, QueryVariableBuilder, ThresholdsConfigBuilder,
  ThresholdsMode } from "@grafana/grafana-foundation-sdk/dashboard";
import { DataqueryBuilder as PrometheusQuery } from "@grafana/grafana-foundation-sdk/prometheus";
import { DataqueryBuilder as TraceQuery } from "@grafana/grafana-foundation-sdk/tempo";
import { PanelBuilder as TimeSeries } from "@grafana/grafana-foundation-sdk/timeseries";
import { PanelBuilder as NodeGraph } from "@grafana/grafana-foundation-sdk/nodegraph";
import { PanelBuilder as Table } from "@grafana/grafana-foundation-sdk/table";

const prometheus = { type: "prometheus", uid: "${datasource}" };
const traces = { type: "tempo", uid: "${traces}" };
const ours = /\b((?:http_server|grpc_server|go_sql|outbox|process|taskqueue|cdc|search|rerun|callout|cellcounter|billsplit|externaledit|notifications|aftercommit|background|dependency|build)_[a-z0-9_]+)\b(\{)?/g;

// scoped limits every metric of a query to the chosen namespace, so that another installation, or another team's service with
// metrics of the same name, is not added up with ours.
export const scoped = (query) => query.replace(ours, (_, name, open) => `${name}{namespace=~"$namespace"${open ? "," : "}"}`);

const size = (panel, width, height) => panel.span(width).height(height);

// graph is a panel over time. Queries of a histogram's buckets show the traces of single measurements as points.
export function graph(title, unit, ...queries) {
  const panel = size(new TimeSeries(), 12, 8).title(title).unit(unit).min(0).datasource(prometheus);
  queries.forEach(([expr, legend], i) => {
    panel.withTarget(new PrometheusQuery().refId(String.fromCharCode(65 + i)).expr(scoped(expr)).legendFormat(legend)
      .exemplar(expr.includes("_bucket")));
  });
  // because says what a reader has to know; over draws the line above which someone should look.
  panel.because = (text) => panel.description(text);
  panel.over = (value) => panel.thresholds(new ThresholdsConfigBuilder().mode(ThresholdsMode.Absolute)
    .steps([{ value: null, color: "green" }, { value, color: "red" }])).thresholdsStyle({ build: () => ({ mode: "line" }) });
  return panel;
}

// followed shows who calls whom, and the slowest requests, from the traces.
export const followed = () => [
  size(new NodeGraph(), 12, 12).title("Calls between services").datasource(traces).description("From the traces. Needs a data source of Tempo.")
    .withTarget(new TraceQuery().refId("A").queryType("serviceMap").serviceMapQuery('{namespace=~"$namespace"}')),
  size(new Table(), 12, 12).title("The slowest requests").datasource(traces)
    .withTarget(new TraceQuery().refId("A").queryType("traceql").limit(20)
      .query('{ kind = server && span.http.route != nil && duration > 250ms } | select(span.http.route, resource.service.name)')),
];

export function dashboard({ name, title, panels }) {
  const board = new DashboardBuilder(`Lab / ${title}`).uid(`lab-${name}`).tags(["lab"]).refresh("30s").time({ from: "now-6h", to: "now" })
    .readonly()
    .withVariable(new DatasourceVariableBuilder("datasource").type("prometheus"))
    .withVariable(new DatasourceVariableBuilder("traces").type("tempo"))
    .withVariable(new QueryVariableBuilder("namespace").datasource(prometheus).query("label_values(outbox_parked_rows, namespace)")
      .includeAll(true).allValue(".*").current({ text: "All", value: "$__all" }))
    .link(new DashboardLinkBuilder("The other boards").type(DashboardLinkType.Dashboards).tags(["lab"]).asDropdown(true).includeVars(true)
      .keepTime(true));
  for (const panel of panels) board.withPanel(panel);
  return `${JSON.stringify(board.build(), null, 2)}\n`;
}
