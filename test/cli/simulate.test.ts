import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { startSimulator } from '../../cli/simulator/simulator.ts'
import { gw, TOOL } from '../helpers/gw.ts'

async function firstLineOf(...args: readonly string[]) {
  const child = spawn(process.execPath, [TOOL, 'simulate', '--port', '0', ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line] = await once(createInterface({ input: child.stdout }), 'line')
  const stop = async (signal: NodeJS.Signals) => {
    const exited = once(child, 'exit')
    child.kill(signal)
    return await exited
  }
  return { line: String(line), stop }
}

test('it prints its base URL in one line once it answers, and exits with 0', async () => {
  const { line, stop } = await firstLineOf()
  const [baseUrl = ''] = /http:\/\/127\.0\.0\.1:\d+\/v1$/.exec(line) ?? []
  assert.equal((await fetch(`${baseUrl}/models`)).status, 200)
  assert.deepEqual(await stop('SIGTERM'), [0, null])
})

test('options reach the simulator, and JSON is one line', async () => {
  const { line, stop } = await firstLineOf('--model', 'llama', '--error-rate', '1', '-o', 'json')
  const facts = JSON.parse(line)
  assert.equal(facts.model, 'llama')
  assert.equal(facts.base_url, `${facts.url}/v1`)
  const body = JSON.stringify({ model: 'llama', messages: [{ role: 'user', content: 'hi' }] })
  const answer = await fetch(`${facts.base_url}/chat/completions`, { method: 'POST', body })
  assert.equal(answer.status, 500)
  assert.deepEqual(await stop('SIGINT'), [0, null])
})

test('a port in use is said in one sentence', async (t) => {
  const other = await startSimulator()
  t.after(() => other.stop())
  const { code, stdout, stderr } = await gw('simulate', '--port', String(other.port))
  assert.equal(code, 2)
  assert.equal(stdout, '')
  assert.equal(stderr, `error: 127.0.0.1:${other.port} is in use; choose another with --port\n`)
})

for (const [flag, value] of [
  ['--error-rate', '1.1'],
  ['--error-rate', '1.1.1'],
  ['--error-status', '200'],
  ['--slots', '0'],
  ['--tokens-per-second', '0'],
  ['--latency-ms', '-1'],
]) {
  test(`${flag} ${value} is a usage error`, async () => {
    const { code, stderr } = await gw('simulate', '--port', '0', `${flag}=${value}`)
    assert.equal(code, 64)
    assert.match(stderr, /number from/)
  })
}
