/** The Redis of LiteLLM's router, which shares its counters, as the shared store. */
import { ownReference } from '../../../dataplane/config/document/foreign-references.ts'
import type { Draft, Fields } from '../draft.ts'
import type { Field } from '../field.ts'
import { putText } from '../upstream-parts.ts'

export function putRedis(router: Field, draft: Draft): void {
  const url = router.at('redis_url')
  const [host, port, password] = ['redis_host', 'redis_port', 'redis_password'].map((name) =>
    router.at(name),
  )
  if (!url.exists && host?.exists !== true) return
  const redis: Fields = {}
  if (url.exists) putUrl(url, redis)
  else {
    const secret = password?.exists === true ? `:${partOf(password, 'REDIS_PASSWORD')}@` : ''
    const at = port?.exists === true ? `:${partOf(port)}` : ''
    redis.url = `redis://${secret}${host === undefined ? '' : partOf(host)}${at}`
    for (const field of [host, port, password])
      if (field?.exists === true) field.changed('a part of the URL', redis, 'url')
  }
  redis.fail_open = true
  draft.rate_limits.backend = 'redis'
  draft.rate_limits.redis = redis
  const text = 'The other gateway goes on without Redis; false refuses requests instead.'
  draft.remarks.push({ owner: redis, member: 'fail_open', text })
}

function putUrl(field: Field, redis: Fields): void {
  const { text = '' } = field
  if (!/^[a-z+]+:\/\/[^@/]*:[^@/]+@/.test(text)) {
    putText(field, redis, 'url')
    return
  }
  redis.url = '${env:REDIS_URL}'
  field.changed('it has a password: put the URL into the variable REDIS_URL', redis, 'url')
}

function partOf(field: Field, variable?: string): string {
  const { text = '' } = field
  return ownReference(text) ?? (variable === undefined ? text : `\${env:${variable}}`)
}
