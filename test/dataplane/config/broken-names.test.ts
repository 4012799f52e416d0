/** Names that are not unique, or lead nowhere. */
import { type Row, testRefusals } from './documents.ts'

function route(fields: string): string {
  return `  routes:\n    - name: r\n${fields.replace(/^/gm, '      ')}`
}

const NAMES: Row[] = [
  {
    name: 'an upstream name twice',
    yaml: '  upstreams:\n    - {name: a, provider: openai, model: m}\n    - {name: a, provider: openai, model: m} # here',
    path: 'gw.upstreams[1].name',
    says: 'duplicate upstream name "a"; first at gw.upstreams[0].name',
    fix: 'another name',
  },
  {
    name: 'a route name twice',
    yaml: '  routes:\n    - {name: r, strategy: single, primary: a}\n    - {name: r, strategy: single, primary: b} # here',
    path: 'gw.routes[1].name',
    says: 'duplicate route name',
    fix: 'another name',
  },
  {
    name: 'an unknown upstream in a route',
    yaml: route('strategy: round_robin\nupstreams:\n  - a\n  - bb # here'),
    path: 'gw.routes[0].upstreams[1]',
    says: 'unknown upstream "bb"; did you mean "b"?',
    fix: '"a", "b"',
  },
  {
    name: 'an unknown primary',
    yaml: route('strategy: single\nprimary: zzz # here'),
    path: 'gw.routes[0].primary',
    says: 'unknown upstream "zzz"',
    fix: 'Use one of',
  },
  {
    name: 'an unknown fallback',
    yaml: route('strategy: primary_with_fallback\nprimary: a\nfallback: [b, c3] # here'),
    path: 'gw.routes[0].fallback[1]',
    says: 'unknown upstream "c3"',
    fix: 'Use one of',
  },
  {
    name: 'the same upstream listed twice',
    yaml: route('strategy: round_robin\nupstreams: [a, b, a] # here'),
    path: 'gw.routes[0].upstreams[2]',
    says: 'duplicate upstream of the route "a"',
    fix: 'Remove one',
  },
  {
    name: 'an alias to an unknown route',
    yaml: '  aliases:\n    gpt-4o: rr # here',
    path: 'gw.aliases.gpt-4o',
    says: 'unknown route "rr"; did you mean "r"?',
    fix: '"r"',
  },
  {
    name: 'an alias to an alias',
    yaml: '  aliases:\n    x: y # here\n    y: r',
    path: 'gw.aliases.x',
    says: 'cannot lead to another alias',
    fix: '"r"',
  },
  {
    name: 'an alias with the name of a route',
    yaml: '  aliases:\n    r: r # here',
    path: 'gw.aliases.r',
    says: 'hides the route',
    fix: 'rename',
  },
  {
    name: 'an alias with a * within',
    yaml: '  aliases:\n    "gpt-*-mini": r # here',
    path: 'gw.aliases["gpt-*-mini"]',
    says: 'a * that is not its last character',
    fix: '"gpt-*"',
  },
  {
    name: 'the end of an alias that does not exist',
    yaml: '  aliases: {old: r}\n  deprecated_aliases:\n    odl: {since: 2026-01-01} # here',
    path: 'gw.deprecated_aliases.odl',
    says: 'unknown alias "odl"; did you mean "old"?',
    fix: '"old"',
  },
  {
    name: 'an alias that ends on a day that does not exist',
    yaml: '  aliases:\n    old:\n      route: r\n      deprecated: {since: 2026-02-30} # here',
    path: 'gw.aliases.old.deprecated.since',
    says: 'must be a day such as 2026-12-31',
    fix: '',
  },
  {
    name: 'a member that an alias does not have',
    yaml: '  aliases:\n    old: {route: r, depricated: {since: 2026-01-01}} # here',
    path: 'gw.aliases.old',
    says: 'expected text, not a map',
    fix: '',
  },
  {
    name: 'an unknown successor',
    yaml: route(
      'strategy: single\nprimary: a\ndeprecated: {since: 2026-01-01, successor: s} # here',
    ),
    path: 'gw.routes[0].deprecated.successor',
    says: 'unknown route or alias "s"',
    fix: '"r"',
  },
  {
    name: 'a successor that leads back',
    yaml: `  aliases: {other: r}\n${route('strategy: single\nprimary: a\ndeprecated: {since: 2026-01-01, successor: other} # here')}`,
    path: 'gw.routes[0].deprecated.successor',
    says: '"other" leads back to "r"',
    fix: '',
  },
  {
    name: 'an end before its beginning',
    yaml: route(
      'strategy: single\nprimary: a\ndeprecated: {since: 2026-03-01, until: 2026-02-01} # here',
    ),
    path: 'gw.routes[0].deprecated.until',
    says: 'until is before since',
    fix: 'later until',
  },
  {
    name: 'a redirection without a successor',
    yaml: route(
      'strategy: single\nprimary: a\ndeprecated: {since: 2026-01-01, until: 2027-01-01, then: redirect} # here',
    ),
    path: 'gw.routes[0].deprecated.then',
    says: 'cannot take effect without successor',
    fix: 'Write successor',
  },
]

testRefusals(NAMES)
