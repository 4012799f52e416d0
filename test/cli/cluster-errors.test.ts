/** Unreachable clusters: the tool prints the reason and the fix. */
import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { Command } from 'commander'
import { findGateway, withCluster } from '../../cli/asking/cluster-access.ts'
import { explained } from '../../cli/asking/cluster-errors.ts'
import { addPlace } from '../../cli/asking/place.ts'

type Answer = RequestListener

const folder = await mkdtemp(join(tmpdir(), 'gw-errors-'))
after(() => rm(folder, { recursive: true }))

let answer: Answer
const server = createServer((request, response) => answer(request, response))
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
after(() => server.close())
const { port } = server.address() as AddressInfo

function refuses(code: number, reason: string): Answer {
  return (_request, response) => {
    response.writeHead(code, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ kind: 'Status', code, reason, message: reason }))
  }
}

async function failure(given: Answer): Promise<string> {
  answer = given
  const kubeconfig = join(folder, 'config')
  const config = {
    clusters: [{ name: 'c', cluster: { server: `http://127.0.0.1:${port}` } }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u', namespace: 'ai' } }],
    users: [{ name: 'u', user: { token: 't' } }],
    'current-context': 'x',
  }
  await writeFile(kubeconfig, JSON.stringify(config))
  const gateway = 'production'
  const place = {
    kind: 'cluster',
    kubeconfig,
    context: undefined,
    namespace: 'ai',
    gateway,
  } as const
  return await withCluster(place, findGateway).then(() => 'answered', String)
}

const page: Answer = (_request, response) => {
  response.writeHead(200, { 'content-type': 'text/html' })
  response.end('<html>Sign in</html>')
}

const cases: readonly (readonly [what: string, answer: Answer, says: RegExp])[] = [
  ['ended credentials', refuses(401, 'Unauthorized'), /\(401\)\. Log in again/],
  ['a right that is missing', refuses(403, 'Forbidden'), /403 Forbidden\. Ask an administrator/],
  ['a login page', page, /no API server of Kubernetes answers.*not JSON\. Check the server/],
  [
    'a redirect',
    refuses(302, 'Found'),
    /not an API server of Kubernetes.*\(302\)\. Check the server/,
  ],
  ['a server that restarts', refuses(503, 'Unavailable'), /overloaded or failing: try again/],
  ['a server without our types', refuses(404, 'page not found'), /install the chart/],
]
for (const [what, given, says] of cases) {
  test(`${what}: the error contains the fix`, async () => {
    assert.match(await failure(given), says)
  })
}

test('an API server that does not answer is named, and so is what to check', () => {
  const late = new DOMException('The operation was aborted due to timeout', 'TimeoutError')
  assert.match(
    String(explained(late, 'https://cluster:6443')),
    /^Error: The API server at https:\/\/cluster:6443 does not respond \(it does not answer in time\)\. Check/,
  )
})

test('a namespace or a gateway that no object can have is wrong usage, and nothing is asked', () => {
  const refused = [
    ['-n', ''],
    ['-n', 'AI'],
    ['-n', 'a/../b'],
    ['--gateway', ''],
    ['--gateway', '../../x'],
    ['--gateway', 'a/b/c'],
  ]
  const parse = (args: readonly string[]) => {
    const command = addPlace(new Command('any'))
      .exitOverride()
      .action(() => {})
    command.configureOutput({ writeErr: () => {} }).parse(args, { from: 'user' })
  }
  for (const args of refused) assert.throws(() => parse(args), /is invalid\. Give /, args.join(' '))
  parse(['-n', 'team-a', '--gateway', 'ai/production'])
})
