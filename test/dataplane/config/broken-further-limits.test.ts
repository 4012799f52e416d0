/** Entries of limits[] that cannot take effect. */
import { type Row, testRefusals, testWarnings } from './documents.ts'

function row(name: string, limit: string, path: string, says: string, fix: string): Row {
  const yaml = `  limits:\n    - ${limit} # here`
  return { name, yaml, path: `gw.limits[0]${path}`, says, fix }
}

const RATE = 'requests_per_minute: 1'

const ROWS: Row[] = [
  row('without a measure', '{name: a, for: {tenant: t}}', '', 'limits nothing', 'budget'),
  row(
    'a burst alone',
    '{name: a, for: {tenant: t}, burst: 1}',
    '.burst',
    'without requests_per_minute',
    'remove burst',
  ),
  row(
    'without a selector',
    `{name: a, for: {}, ${RATE}}`,
    '.for',
    'selects nothing',
    'tenant: "*"',
  ),
  row(
    'two kinds of tenants',
    `{name: a, for: {tenant: t, tenants: [t]}, ${RATE}}`,
    '.for',
    'both tenant and tenants',
    'Keep one',
  ),
  row(
    'an unknown route',
    `{name: a, for: {route: rr}, ${RATE}}`,
    '.for.route',
    'unknown route "rr"',
    'Use one of',
  ),
  row(
    'an unknown model',
    `{name: a, for: {model: "gpt-*"}, ${RATE}}`,
    '.for.model',
    'has the model "gpt-*"',
    'Use one of',
  ),
  row(
    'an unknown key',
    `{name: a, for: {key: kk}, ${RATE}}`,
    '.for.key',
    'no key has the id "kk"',
    'Use one of',
  ),
  row(
    'a key of another tenant',
    `{name: a, for: {key: k, tenants: [u, v]}, ${RATE}}`,
    '.for.key',
    'is of tenant "t"',
    'Name that tenant',
  ),
  row(
    'a tag that is not declared',
    `{name: a, for: {each: tag/team}, ${RATE}}`,
    '.for.each',
    'does not declare it',
    'usage.tags',
  ),
  row(
    'an unknown dimension',
    `{name: a, for: {each: pod}, ${RATE}}`,
    '.for.each',
    'must be tenant, key, user',
    '',
  ),
  row(
    'a budget without a cap',
    '{name: a, for: {tenant: t}, budget: {per: day}}',
    '.budget',
    'has no cap',
    'usd and tokens',
  ),
  row(
    'a budget of both units',
    '{name: a, for: {tenant: t}, budget: {per: day, usd: 1, tokens: 1}}',
    '.budget',
    'both usd and tokens',
    'two limits',
  ),
  row(
    'an unknown upstream',
    `{name: a, for: {upstream: c}, ${RATE}}`,
    '.for.upstream',
    'unknown upstream "c"',
    'Use one of',
  ),
  row(
    'the quota of an upstream that downgrades',
    '{name: a, for: {upstream: a}, budget: {per: day, tokens: 1, on_exceeded: downgrade, downgrade_route: r}}',
    '.budget.on_exceeded',
    'an upstream whose quota is full is passed over',
    'another upstream',
  ),
  {
    name: 'the quota of an upstream for a model that it does not get',
    yaml: `  limits:\n    - {name: a, for: {upstream: a, model: big-model}, ${RATE}} # here\n  aliases: {big-model: other}\n  routes:\n    - {name: r, strategy: single, primary: a}\n    - {name: other, strategy: single, primary: b}`,
    path: 'gw.limits[0].for.model',
    says: 'upstream "a" gets no requests for such a model',
    fix: '"r"',
  },
  {
    name: 'the quota of an upstream on a route without it',
    yaml: `  limits:\n    - {name: a, for: {upstream: a, route: other}, ${RATE}} # here\n  routes:\n    - {name: r, strategy: single, primary: a}\n    - {name: other, strategy: single, primary: b}`,
    path: 'gw.limits[0].for.route',
    says: 'route "other" does not use upstream "a"',
    fix: 'Use',
  },
  {
    name: 'the quota of an upstream that no route uses',
    yaml: `  limits:\n    - {name: a, for: {upstream: a}, ${RATE}} # here\n  routes:\n    - {name: other, strategy: single, primary: b}`,
    path: 'gw.limits[0].for.upstream',
    says: 'no route uses upstream "a"',
    fix: 'Use',
  },
  row(
    'a budget without prices',
    '{name: a, for: {tenant: t}, budget: {per: day, usd: 1}}',
    '.budget.usd',
    'no price for "m"',
    'pricing',
  ),
  row(
    'a downgrade to nowhere',
    '{name: a, for: {tenant: t}, budget: {per: day, tokens: 1, on_exceeded: downgrade}}',
    '.budget.on_exceeded',
    'needs downgrade_route',
    'Add',
  ),
  row(
    'an unknown window',
    '{name: a, for: {tenant: t}, budget: {per: year, tokens: 1}}',
    '.budget.per',
    'unknown per',
    '"hour"',
  ),
  row(
    'an unknown time zone',
    '{name: a, for: {tenant: t}, budget: {per: day, tokens: 1, time_zone: Mars/Base}}',
    '.budget.time_zone',
    'no time zone',
    'IANA',
  ),
  row(
    'a time zone without windows',
    '{name: a, for: {tenant: t}, budget: {per: total, tokens: 1, time_zone: UTC}}',
    '.budget.time_zone',
    'per is total',
    'Remove',
  ),
  row(
    'a raise in another unit',
    '{name: a, for: {tenant: t}, budget: {per: day, tokens: 1, raise: {usd: 1, until: "2027-01-01T00:00:00Z"}}}',
    '.budget.raise',
    'must add tokens',
    'Write tokens',
  ),
  {
    name: 'a header of end users that nothing limits',
    yaml: '  usage: {end_user_header: X-User} # here',
    path: 'gw.usage.end_user_header',
    says: 'no limit is for each user',
    fix: 'each: user',
  },
  {
    name: 'end users of events that are sent nowhere',
    yaml: '  usage: {end_user: hash} # here',
    path: 'gw.usage.end_user',
    says: 'usage.sinks is absent',
    fix: 'Write usage.sinks',
  },
  {
    name: 'a credential as end user of events',
    yaml: '  usage:\n    end_user: plain\n    sinks: {file: {path: u.jsonl}}\n    end_user_header: Authorization # here',
    path: 'gw.usage.end_user_header',
    says: '"Authorization" has another purpose',
    fix: 'X-Gw-User',
  },
  {
    name: 'two limits of one name',
    yaml: `  limits:\n    - {name: a, for: {tenant: t}, ${RATE}}\n    - {name: a, for: {key: k}, ${RATE}} # here`,
    path: 'gw.limits[1].name',
    says: 'duplicate limit name',
    fix: 'another name',
  },
]

testRefusals(ROWS)

testWarnings([
  row(
    'a raise that has ended',
    '{name: a, for: {tenant: t}, budget: {per: day, tokens: 1, raise: {tokens: 1, until: "2026-11-20T00:00:00Z"}}}',
    '.budget.raise.until',
    'it ended',
    'Remove raise',
  ),
])
