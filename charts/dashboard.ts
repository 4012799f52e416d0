/** The Grafana dashboard of the chart: panels by topic, two to a row. */

interface Panel {
  readonly title: string
  readonly description: string
  /** Query by legend. */
  readonly queries: Readonly<Record<string, string>>
  readonly unit?: string
}

const GATEWAY = 'namespace=~"$namespace", gateway=~"$gateway"'

const rate = (metric: string, by: string, more = '') =>
  `sum by (${by}) (rate(${metric}{${GATEWAY}${more}}[$__rate_interval]))`

const quantile = (share: number, metric: string) =>
  `histogram_quantile(${share}, ${rate(`${metric}_bucket`, 'le, route')})`

const PANELS: readonly Panel[] = [
  {
    title: 'Requests',
    description: 'Answers a second, by status.',
    queries: { '{{status}}': rate('gw_requests_total', 'status') },
    unit: 'reqps',
  },
  {
    title: 'Failing',
    description: 'Share of 5xx, by route.',
    queries: {
      '{{route}}': `${rate('gw_requests_total', 'route', ', status=~"5.."')} / ${rate('gw_requests_total', 'route')}`,
    },
    unit: 'percentunit',
  },
  {
    title: 'Time to first token',
    description: 'From the headers of a request to its first content.',
    queries: {
      '{{route}} p50': quantile(0.5, 'gw_time_to_first_token_seconds'),
      '{{route}} p95': quantile(0.95, 'gw_time_to_first_token_seconds'),
    },
    unit: 's',
  },
  {
    title: 'Whole answers',
    description: 'From the headers of a request to the end of its answer.',
    queries: {
      '{{route}} p50': quantile(0.5, 'gw_request_duration_seconds'),
      '{{route}} p95': quantile(0.95, 'gw_request_duration_seconds'),
    },
    unit: 's',
  },
  {
    title: 'Tokens',
    description: 'Tokens a second, by route and kind.',
    queries: { '{{route}} {{kind}}': rate('gw_tokens_total', 'route, kind') },
  },
  {
    title: 'In flight',
    description: 'Running requests, and open streams.',
    queries: {
      requests: `sum(gw_requests_in_flight{${GATEWAY}})`,
      streams: `sum(gw_streams_open{${GATEWAY}})`,
    },
  },
  {
    title: 'Refused',
    description: 'By error code.',
    queries: { '{{code}}': rate('gw_refused_total', 'code') },
    unit: 'reqps',
  },
  {
    title: 'Refused for a limit',
    description: 'By tenant and reason.',
    queries: { '{{tenant}} {{reason}}': rate('gw_ratelimit_rejected_total', 'tenant, reason') },
    unit: 'reqps',
  },
  {
    title: 'Upstreams in rotation',
    description: 'Share of the pods in which probes keep the upstream in rotation.',
    queries: { '{{upstream}}': `avg by (upstream) (gw_upstream_healthy{${GATEWAY}})` },
    unit: 'percentunit',
  },
  {
    title: 'Attempts that failed',
    description: 'By upstream and outcome.',
    queries: {
      '{{upstream}} {{outcome}}': rate(
        'gw_upstream_attempts_total',
        'upstream, outcome',
        ', outcome!="ok"',
      ),
    },
    unit: 'reqps',
  },
  {
    title: 'Spent this window',
    description: 'USD by tenant.',
    queries: {
      '{{tenant}} {{window}}': `max by (tenant, window) (gw_budget_spend_usd{${GATEWAY}})`,
    },
    unit: 'currencyUSD',
  },
  {
    title: 'Tokens used this window',
    description: 'By tenant.',
    queries: {
      '{{tenant}} {{window}}': `max by (tenant, window) (gw_budget_tokens_used{${GATEWAY}})`,
    },
  },
  {
    title: 'Budgets of limits',
    description: 'Used fraction of each budget of limits[], by its counter.',
    queries: {
      '{{limit}} {{counter}} {{window}}': `max by (limit, counter, window) (gw_limit_budget_used_ratio{${GATEWAY}})`,
    },
    unit: 'percentunit',
  },
  {
    title: 'Shared counters',
    description: '1 while the Redis of the gateway answers; settlements that wait for it.',
    queries: {
      'answers {{gateway}}': `min by (gateway) (gw_store_up{${GATEWAY}})`,
      'waiting {{gateway}}': `max by (gateway) (gw_store_settlements_waiting{${GATEWAY}})`,
    },
  },
  {
    title: 'Configurations sent',
    description: 'Documents that the operator sent to pods, by result.',
    queries: {
      '{{document}} {{result}}':
        'sum by (document, result) (rate(gw_config_push_total[$__rate_interval]))',
    },
  },
]

const WIDTH = 12
const HEIGHT = 8
const DATA = { type: 'prometheus', uid: '${datasource}' }

export function makeDashboard() {
  return {
    uid: 'gw-gateways',
    title: 'gw gateways',
    tags: ['gw'],
    schemaVersion: 39,
    editable: true,
    refresh: '30s',
    time: { from: 'now-1h', to: 'now' },
    templating: {
      list: [
        { name: 'datasource', type: 'datasource', query: 'prometheus' },
        variable('namespace', 'label_values(gw_build_info, namespace)'),
        variable('gateway', 'label_values(gw_build_info{namespace=~"$namespace"}, gateway)'),
      ],
    },
    panels: PANELS.map(panelOf),
  }
}

function variable(name: string, query: string) {
  return {
    name,
    type: 'query',
    datasource: DATA,
    query: { query, refId: name },
    refresh: 2,
    multi: true,
    includeAll: true,
    current: { text: ['All'], value: ['$__all'] },
  }
}

function panelOf({ title, description, queries, unit = 'short' }: Panel, index: number) {
  return {
    id: index + 1,
    type: 'timeseries',
    title,
    description,
    datasource: DATA,
    gridPos: { x: (index % 2) * WIDTH, y: Math.floor(index / 2) * HEIGHT, w: WIDTH, h: HEIGHT },
    fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
    targets: Object.entries(queries).map(([legendFormat, expr], at) => ({
      refId: String.fromCharCode(65 + at),
      datasource: DATA,
      expr,
      legendFormat,
    })),
  }
}
