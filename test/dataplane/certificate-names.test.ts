/** Names in client certificates: how they are read, and the entry of each. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CertificateNames } from '../../dataplane/config/certificate-names.ts'
import { namesIn } from '../../dataplane/listener/client-certificate.ts'
import { SCOPES } from '../../dataplane/schema/keys.ts'

const READ: readonly [string, string, readonly string[]][] = [
  ['hosts in lower case, URIs as they are', 'DNS:A.b, URI:spiffe://X/y', ['a.b', 'spiffe://X/y']],
  ['only hosts and URIs', 'IP Address:10.0.0.1, email:a@b, DirName:CN=x, DNS:a', ['a']],
  ['no quoted name', 'URI:"spiffe://x/a, DNS:b", DNS:c', ['c']],
  ['no pattern', 'DNS:*.b, URI:spiffe://x/*, DNS:c', ['c']],
  ['no host that looks like a URI', 'DNS:spiffe://x/a', []],
  [
    'no path that leaves its prefix',
    'URI:a://x/b/../c, URI:a://x/./b, URI:a://x/b/%2E., URI:a://x/b/...',
    ['a://x/b/...'],
  ],
  ['nothing from an unreadable list', 'DNS:a, "DNS:b', []],
  ['nothing of nothing', '', []],
]

for (const [what, list, names] of READ) {
  test(`${what} is read of a certificate`, () => assert.deepEqual(namesIn(list), names))
}

const entry = (tenant: string, ...san: string[]) => ({
  name: tenant,
  tenant,
  san,
  scopes: [...SCOPES],
})
const names = new CertificateNames([
  entry('cluster', 'spiffe://x/*'),
  entry('team', 'spiffe://x/ns/a/*'),
  entry('chief', 'spiffe://x/ns/a/sa/chief'),
  entry('domain', '*.b.example'),
  entry('host', 'a.b.example'),
])

const FOUND: readonly [readonly string[], string | undefined][] = [
  [['spiffe://x/ns/a/sa/chief'], 'chief'],
  [['spiffe://x/ns/a/sa/other'], 'team'],
  [['spiffe://x/ns/ab'], 'cluster'],
  [['spiffe://x'], undefined],
  [['spiffe://xy/ns/a/b'], undefined],
  [['a.b.example'], 'host'],
  [['c.b.example'], 'domain'],
  [['d.c.b.example'], undefined],
  [['b.example'], undefined],
  [['spiffe://x/z', 'spiffe://x/ns/a/b'], 'team'],
  [['none', 'c.b.example'], 'domain'],
  [[], undefined],
]

for (const [presented, tenant] of FOUND) {
  test(`[${presented}] stands for ${tenant ?? 'no tenant'}`, () => {
    const caller = names.callerOf({ names: presented, until: 5 })
    assert.equal(caller?.record.tenant, tenant)
    const id = caller?.record.id
    assert.ok(id === undefined || presented.some((name) => id === `${tenant}:${name}`), `${id}`)
    assert.equal(caller?.expiresAt ?? 5, 5)
  })
}
