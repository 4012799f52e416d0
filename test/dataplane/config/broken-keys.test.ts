/** Keys that could not be used as written. */
import { hashOf, type Row, testRefusals } from './documents.ts'

function key(fields: string): string {
  return `  api_keys:\n    - id: k\n      tenant: t\n      hash: "${hashOf('k')}"\n${fields.replace(/^/gm, '      ')}`
}

const KEYS: Row[] = [
  {
    name: 'labels that no upstream has',
    yaml: '  tenants:\n    - {name: t, requires: {region: eu}} # here',
    path: 'gw.tenants[0].requires',
    says: 'no upstream has the labels region=eu',
    fix: 'Write labels at upstreams',
  },
  {
    name: 'a tenant that requires labels twice',
    yaml: '  upstreams:\n    - {name: a, provider: openai, model: gpt-4o, labels: {region: eu}}\n    - {name: b, provider: openai, model: gpt-4o}\n  tenants:\n    - {name: t, requires: {region: eu}}\n    - {name: t, requires: {region: eu}} # here',
    path: 'gw.tenants[1].name',
    says: 'duplicate tenant "t"',
    fix: 'another name',
  },
  {
    name: 'a key id twice',
    yaml: `${key('routes: [r]')}\n    - {id: k, tenant: t, hash: "${hashOf('l')}", routes: [r]} # here`,
    path: 'gw.api_keys[1].id',
    says: 'duplicate key id "k"',
    fix: 'another name',
  },
  {
    name: 'a key hash twice',
    yaml: `${key('routes: [r]')}\n    - {id: l, tenant: t, hash: "${hashOf('k')}", routes: [r]} # here`,
    path: 'gw.api_keys[1].hash',
    says: 'duplicate key hash',
    fix: 'Remove one',
  },
  {
    name: 'a key for an unknown route',
    yaml: key('routes: [chat] # here'),
    path: 'gw.api_keys[0].routes[0]',
    says: 'unknown route "chat"',
    fix: '"r"',
  },
  {
    name: 'a key for an alias',
    yaml: `  aliases: {gpt: r}\n${key('routes: [gpt] # here')}`,
    path: 'gw.api_keys[0].routes[0]',
    says: 'is an alias',
    fix: '"r"',
  },
  {
    name: 'a star beside names',
    yaml: key('routes: ["*", r] # here'),
    path: 'gw.api_keys[0].routes',
    says: 'restrict nothing',
    fix: 'alone',
  },
  {
    name: 'a key without scopes',
    yaml: key('routes: [r]\nscopes: [] # here'),
    path: 'gw.api_keys[0].scopes',
    says: 'could do nothing',
    fix: 'models:invoke',
  },
  {
    name: 'a key with a tag that is not declared',
    yaml: `  usage: {tags: [team]}\n${key('routes: [r]\ntags: {team: blue, taem: blue} # here')}`,
    path: 'gw.api_keys[0].tags.taem',
    says: 'usage.tags does not declare "taem"; did you mean "team"?',
    fix: 'one of: "team"',
  },
  {
    name: 'a key with a tag where none is declared',
    yaml: key('routes: [r]\ntags: {team: blue} # here'),
    path: 'gw.api_keys[0].tags.team',
    says: 'usage.tags does not declare "team"',
    fix: 'usage: {tags: [team]}',
  },
  {
    name: 'a key with a tag that no row may hold',
    yaml: `  usage: {tags: [team]}\n${key('routes: [r]\ntags: {team: "a,b=c"} # here')}`,
    path: 'gw.api_keys[0].tags.team',
    says: 'must be 1 to 64 letters, digits and . _ : / @ -',
    fix: '1 to 64 letters',
  },
  {
    name: 'a required tag that is not declared',
    yaml: '  usage:\n    tags: [team]\n    required_tags: [taem] # here',
    path: 'gw.usage.required_tags[0]',
    says: 'usage.tags does not declare "taem"; did you mean "team"?',
    fix: 'Add "taem" to usage.tags, or use one of',
  },
  {
    name: 'a required tag of a gateway without tags',
    yaml: '  usage: {required_tags: [team]} # here',
    path: 'gw.usage.required_tags[0]',
    says: 'usage.tags does not declare "team"',
    fix: 'usage: {tags: [team]}',
  },
  {
    name: 'a tag that is required twice',
    yaml: '  usage:\n    tags: [team]\n    required_tags: [team, team] # here',
    path: 'gw.usage.required_tags[1]',
    says: 'duplicate required tag "team"',
    fix: 'Remove one of the two',
  },
  {
    name: 'a header of tags without tags',
    yaml: '  usage: {tag_headers: [{header: cf-aig-metadata}]} # here',
    path: 'gw.usage.tag_headers',
    says: 'usage.tags declares no tag',
    fix: 'usage: {tags: [team]}',
  },
  {
    name: 'a header of tags that names an undeclared tag',
    yaml: '  usage:\n    tags: [team]\n    tag_headers:\n      - {header: x-litellm-tags, tag: taem} # here',
    path: 'gw.usage.tag_headers[0].tag',
    says: 'usage.tags does not declare "taem"; did you mean "team"?',
    fix: 'Add "taem" to usage.tags',
  },
  {
    name: 'one header of tags in two cases',
    yaml: '  usage:\n    tags: [team]\n    tag_headers:\n      - {header: x-tags}\n      - {header: X-Tags} # here',
    path: 'gw.usage.tag_headers[1].header',
    says: 'duplicate header of tags "x-tags"',
    fix: 'Remove one of the two',
  },
  {
    name: 'a header of tags that is a credential',
    yaml: '  usage:\n    tags: [team]\n    tag_headers:\n      - {header: Authorization} # here',
    path: 'gw.usage.tag_headers[0].header',
    says: '"authorization" has another purpose',
    fix: 'only sets tags',
  },
  {
    name: 'a header of tags that upstreams get',
    yaml: '  usage:\n    tags: [team]\n    tag_headers:\n      - {header: anthropic-beta} # here',
    path: 'gw.usage.tag_headers[0].header',
    says: '"anthropic-beta" has another purpose',
    fix: 'only sets tags',
  },
  {
    name: 'a header of tags that is no name',
    yaml: '  usage:\n    tags: [team]\n    tag_headers:\n      - {header: "x tags"} # here',
    path: 'gw.usage.tag_headers[0].header',
    says: 'must be the name of a header',
    fix: 'Write the name of a header',
  },
  {
    name: 'a key with nine tags',
    yaml: `  usage: {tags: [a]}\n${key(`routes: [r]\ntags: {${[...'abcdefghi'].map((name) => `${name}: x`).join(', ')}} # here`)}`,
    path: 'gw.api_keys[0].tags',
    says: 'at most 8',
    fix: 'usage.tags declares the names',
  },
  {
    name: 'an unknown scope',
    yaml: key('routes: [r]\nscopes: ["models:invok"] # here'),
    path: 'gw.api_keys[0].scopes[0]',
    says: 'unknown scope "models:invok"; did you mean "models:invoke"?',
    fix: 'models:list',
  },
  {
    name: 'a key without routes',
    yaml: key('scopes: ["models:list"]').replace('id: k', 'id: k # here'),
    path: 'gw.api_keys[0].routes',
    says: 'required field is missing',
    fix: '["*"]',
  },
  {
    name: 'a key that replaces itself',
    yaml: key('routes: [r]\nrotated_to: k # here'),
    path: 'gw.api_keys[0].rotated_to',
    says: 'cannot replace itself',
    fix: 'newer key',
  },
  {
    name: 'a reason without a revocation',
    yaml: key('routes: [r]\nreason: leaked # here'),
    path: 'gw.api_keys[0].reason',
    says: 'still works',
    fix: 'revoked_at',
  },
  {
    name: 'an invalid time',
    yaml: key('routes: [r]\nexpires_at: tomorrow # here'),
    path: 'gw.api_keys[0].expires_at',
    says: 'ISO 8601',
    fix: 'Write an ISO 8601 time such as 2027-01-31T00:00:00Z.',
  },
  {
    name: 'a whole key as prefix',
    yaml: key(`routes: [r]\nprefix: gw_prod_k_${'a'.repeat(49)} # here`),
    path: 'gw.api_keys[0].prefix',
    says: 'whole key',
    fix: 'first characters',
  },
]

/** An issuer whose fields are these lines, each with what it has of another. */
function issuer(fields: Readonly<Record<string, string>>): string {
  const usual = {
    name: 'idp',
    issuer: 'https://idp.test',
    audiences: '[gw]',
    jwks: '{url: "https://idp.test/keys"}',
    tenant: '{claim: /team}',
  }
  const lines = Object.entries({ ...usual, ...fields }).map(([name, value]) => `${name}: ${value}`)
  return `  auth:\n    jwt:\n      - ${lines.join('\n        ')}`
}

const ISSUERS: Row[] = [
  {
    name: 'an issuer whose keys are in two places',
    yaml: issuer({ jwks: '{url: "https://idp.test/keys", file: keys.json} # here' }),
    path: 'gw.auth.jwt[0].jwks',
    says: 'several places',
    fix: 'one of: url, file',
  },
  {
    name: 'an issuer without keys',
    yaml: issuer({ jwks: '{} # here' }),
    path: 'gw.auth.jwt[0].jwks',
    says: 'is empty',
    fix: 'one of: url, file',
  },
  {
    name: 'the keys of a cluster without one',
    yaml: issuer({ jwks: '{kubernetes: true} # here' }),
    path: 'gw.auth.jwt[0].jwks.kubernetes',
    says: 'needs the operator',
    fix: 'url:',
  },
  {
    name: 'an issuer of no tenant',
    yaml: issuer({ tenant: '{} # here' }),
    path: 'gw.auth.jwt[0].tenant',
    says: 'is empty',
    fix: 'claim:',
  },
  {
    name: 'a tenant that is written and claimed',
    yaml: issuer({ tenant: '{name: t, claim: /team} # here' }),
    path: 'gw.auth.jwt[0].tenant',
    says: 'no claim is read',
    fix: 'Keep name:',
  },
  {
    name: 'an issuer for an unknown route',
    yaml: issuer({ routes: '[chat] # here' }),
    path: 'gw.auth.jwt[0].routes[0]',
    says: 'unknown route "chat"',
    fix: '"r"',
  },
  {
    name: 'a claim that leads to an unknown route',
    yaml: issuer({ routes_from: '{claim: /roles, map: {dev: [chat]}} # here' }),
    path: 'gw.auth.jwt[0].routes_from.map.dev[0]',
    says: 'unknown route "chat"',
    fix: '"r"',
  },
  {
    name: 'a signature with a shared secret',
    yaml: issuer({ algorithms: '[HS256] # here' }),
    path: 'gw.auth.jwt[0].algorithms[0]',
    says: 'RS256',
    fix: 'ES256',
  },
]

const TLS =
  '  gateway: {tls: {cert: "${env:C}", key: "${env:K}", client_ca: "${env:A}", client_auth: require}}\n'

/** Entries for certificates of clients, one a line. */
function certificates(...entries: string[]): string {
  return `${TLS}  auth:\n    certificates:\n${entries.map((entry) => `      - ${entry}`).join('\n')}`
}

const CERTIFICATES: Row[] = [
  {
    name: 'certificates without an authority',
    yaml: '  auth:\n    certificates: # here\n      - {name: a, san: [a.example], tenant: t}',
    path: 'gw.auth.certificates',
    says: 'asks for no certificate',
    fix: 'client_ca',
  },
  {
    name: 'a name of certificates twice',
    yaml: certificates(
      '{name: a, san: [a.example], tenant: t}',
      '{name: b, san: [a.example], tenant: u} # here',
    ),
    path: 'gw.auth.certificates[1].san[0]',
    says: 'duplicate name of certificates "a.example"',
    fix: 'another name',
  },
  {
    name: 'a pattern in the middle of a name of certificates',
    yaml: certificates('{name: a, san: ["spiffe://x/*/y"], tenant: t} # here'),
    path: 'gw.auth.certificates[0].san[0]',
    says: 'must be a URI',
    fix: '*.team-a.example',
  },
  {
    name: 'a certificate for an unknown route',
    yaml: certificates('{name: a, san: [a.example], tenant: t, routes: [chat]} # here'),
    path: 'gw.auth.certificates[0].routes[0]',
    says: 'unknown route "chat"',
    fix: '"r"',
  },
]

const CALLERS: Row[] = [
  {
    name: 'a key with the id of a token',
    yaml: `${issuer({})}\n${key('routes: [r]').replace('id: k', 'id: "idp:alice" # here')}`,
    path: 'gw.api_keys[0].id',
    says: 'auth.jwt',
    fix: 'another id',
  },
  {
    name: 'a key with the id of a certificate',
    yaml: `${certificates('{name: mesh, san: [a.example], tenant: t}')}\n${key('routes: [r]').replace('id: k', 'id: "mesh:a.example" # here')}`,
    path: 'gw.api_keys[0].id',
    says: 'auth.certificates',
    fix: 'another id',
  },
  {
    name: 'a certificate with the name of an issuer',
    yaml: `${TLS}${issuer({})}\n    certificates:\n      - {name: idp, san: [a.example], tenant: t} # here`,
    path: 'gw.auth.certificates[0].name',
    says: 'duplicate name of callers "idp"',
    fix: 'another name',
  },
  {
    name: 'a certificate whose ids could be those of an issuer',
    yaml: `${TLS}${issuer({})}\n    certificates:\n      - {name: "idp:x", san: [a.example], tenant: t} # here`,
    path: 'gw.auth.certificates[0].name',
    says: 'begins with "idp:"',
    fix: 'another name',
  },
]

testRefusals([...KEYS, ...ISSUERS, ...CERTIFICATES, ...CALLERS])
