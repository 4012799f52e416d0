/** Keys: duplicates, unknown routes and tags, expiry, and gateways without any key. */
import { refuse, warn } from '../../judgement/problems.ts'
import { at, type Check, quoted } from '../contract.ts'
import { undeclaredTag, unknownName } from '../names.ts'
import { modelsNamed } from './named-models.ts'

/** A whole key ends in 43 random characters and a checksum of 6; a prefix is a few characters. */
const WHOLE_KEY = /^gw_.+_[0-9A-Za-z]{49}$/

const somebodyMayCall: Check = ({ api_keys, api_keys_file, auth }) =>
  api_keys.length === 0 &&
  api_keys_file === undefined &&
  auth.jwt.length === 0 &&
  auth.certificates.length === 0
    ? [
        warn(
          at('api_keys'),
          'there are no API keys: every request will get 401',
          'Make one with `gw keys create` and add its record, or use GatewayKey resources.',
        ),
      ]
    : []

const keyRoutesExist: Check = (section, { suggestions }) => {
  const { api_keys, routes, aliases } = section
  const known = new Set(routes.map(({ name }) => name))
  const isModel = modelsNamed(section)
  return api_keys.flatMap((key, index) =>
    key.routes.flatMap((name, entry) => {
      const path = at('api_keys', index, 'routes', entry)
      if (name === '*' || (!known.has(name) && isModel(name))) return []
      const target = Object.hasOwn(aliases, name) ? aliases[name] : undefined
      if (name.endsWith('*')) {
        const message = `no model that a client may name fits ${quoted(name)}`
        const fix = 'Write the beginning of an alias that leads to an upstream with model: "*".'
        return [refuse(path, message, fix)]
      }
      if (known.has(name) || target === undefined) {
        return unknownName(name, path, 'route', { known, suggestions })
      }
      const message = `${quoted(name)} is an alias; a key is permitted on routes`
      return [refuse(path, message, `Name the route: ${quoted(target)}.`)]
    }),
  )
}

const starStandsAlone: Check = ({ api_keys }) =>
  api_keys.flatMap(({ routes }, index) =>
    routes.includes('*') && routes.length > 1
      ? [
          refuse(
            at('api_keys', index, 'routes'),
            '"*" means all routes; the other names restrict nothing',
            'Keep "*" alone, or only the names.',
          ),
        ]
      : [],
  )

const keyMayDoSomething: Check = ({ api_keys }) =>
  api_keys.flatMap(({ scopes }, index) =>
    scopes.length === 0
      ? [
          refuse(
            at('api_keys', index, 'scopes'),
            'no scope: the key could do nothing',
            'Leave scopes out for both, or list models:invoke, models:list.',
          ),
        ]
      : [],
  )

const keyTagsAreDeclared: Check = ({ api_keys, usage }, { suggestions }) => {
  const known = new Set(usage.tags)
  return api_keys.flatMap(({ tags = {} }, index) =>
    Object.keys(tags)
      .flatMap((tag) =>
        undeclaredTag(tag, at('api_keys', index, 'tags', tag), { known, suggestions }),
      )
      .map((finding) => ({ ...finding, atKey: true })),
  )
}

const rotationLeadsToAnotherKey: Check = ({ api_keys }, { suggestions }) => {
  const known = new Set(api_keys.map(({ id }) => id))
  return api_keys.flatMap(({ id, rotated_to }, index) => {
    const path = at('api_keys', index, 'rotated_to')
    if (rotated_to === undefined) return []
    if (rotated_to !== id) return unknownName(rotated_to, path, 'key', { known, suggestions })
    return [refuse(path, 'a key cannot replace itself', 'Name the id of the newer key.')]
  })
}

const reasonHasRevocation: Check = ({ api_keys }) =>
  api_keys.flatMap(({ reason, revoked_at }, index) =>
    reason !== undefined && revoked_at === undefined
      ? [
          refuse(
            at('api_keys', index, 'reason'),
            'cannot take effect: the key is not revoked and still works',
            'Add revoked_at:, or remove reason.',
          ),
        ]
      : [],
  )

const prefixIsNotTheKey: Check = ({ api_keys }) =>
  api_keys.flatMap(({ prefix }, index) =>
    prefix !== undefined && WHOLE_KEY.test(prefix)
      ? [
          refuse(
            at('api_keys', index, 'prefix'),
            'is a whole key, which must never be in a file',
            'Keep its first characters only, and replace the exposed key.',
          ),
        ]
      : [],
  )

const keysAreAlive: Check = ({ api_keys }, { now }) =>
  now === undefined
    ? []
    : api_keys.flatMap(({ expires_at, revoked_at, rotated_to }, index) => {
        const isEnded = revoked_at !== undefined || rotated_to !== undefined
        if (expires_at === undefined || isEnded || Date.parse(expires_at) > now) return []
        const message = `the key expired on ${expires_at}, and requests with it get 401`
        return [warn(at('api_keys', index, 'expires_at'), message, 'Remove or replace the key.')]
      })

export const keyChecks = [
  somebodyMayCall,
  keyRoutesExist,
  starStandsAlone,
  keyMayDoSomething,
  keyTagsAreDeclared,
  rotationLeadsToAnotherKey,
  reasonHasRevocation,
  prefixIsNotTheKey,
  keysAreAlive,
]
