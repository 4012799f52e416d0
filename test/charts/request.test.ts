/** The request that the pod of `helm test` sends. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { readChart } from '../helpers/kubernetes/chart.ts'

type Answer = (request: IncomingMessage, response: ServerResponse, count: number) => void

/** Runs it against a server with this answer. */
async function ask(answer: Answer, seconds: string) {
  const folder = mkdtempSync(join(tmpdir(), 'gw-request-'))
  const file = join(folder, 'key')
  writeFileSync(file, 'gw_test_key')
  let count = 0
  const server = createServer((request, response) => answer(request, response, ++count))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  // A server that listens on an address and port has both.
  const { port } = server.address() as AddressInfo
  const child = spawn(
    process.execPath,
    ['--input-type=module', '--eval', readChart('files/request.js')],
    {
      env: {
        GW_URL: `http://127.0.0.1:${port}/v1/chat/completions`,
        GW_KEY_FILE: file,
        GW_SECONDS: seconds,
      },
    },
  )
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  }
  const [code] = await once(child, 'close')
  server.closeAllConnections()
  server.close()
  rmSync(folder, { recursive: true })
  return { code, output, count }
}

const whole = { choices: [{ message: { content: 'Here I am.' } }] }

test('it sends requests with the key until the gateway answers, and prints the answer', async () => {
  const keys = new Set<string | undefined>()
  const { code, output, count } = await ask((request, response, asked) => {
    keys.add(request.headers.authorization)
    if (asked === 1) response.writeHead(503).end('not yet')
    else response.end(JSON.stringify(whole))
  }, '60')
  assert.equal(code, 0, output)
  assert.equal(output, 'The gateway answered: Here I am.\n')
  assert.equal(count, 2)
  assert.deepEqual([...keys], ['Bearer gw_test_key'])
})

test('a gateway that only refuses fails the test, with its message and without the key', async () => {
  const { code, output } = await ask(
    (_, response) => response.writeHead(401).end('who are you'),
    '0',
  )
  assert.equal(code, 1)
  assert.match(output, /did not answer: 401 who are you/)
  assert.doesNotMatch(output, /gw_test_key/)
})
