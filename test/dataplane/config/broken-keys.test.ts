/** Keys that could not be used as written. */
import { hashOf, type Row, testRefusals } from './documents.ts'

function key(fields: string): string {
  return `  api_keys:\n    - id: k\n      tenant: t\n      hash: "${hashOf('k')}"\n${fields.replace(/^/gm, '      ')}`
}

const KEYS: Row[] = [
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
    name: 'a time that is none',
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

testRefusals(KEYS)
