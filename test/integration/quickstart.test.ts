/** What `make run` prints, for programs that a bare machine lacks. */
import assert from 'node:assert/strict'
import { dirname } from 'node:path'
import { after, test } from 'node:test'
import { paste, startQuickstart } from '../helpers/a-quickstart.ts'
import { freePort } from '../helpers/free-port.ts'
import { PYTHON, preparePython } from '../helpers/model/model-server.ts'

const { printed, stop } = await startQuickstart(await freePort())
after(stop)
const curls = printed.match(/^curl [\s\S]*?'$(?=\n\n)/gm) ?? []

test('the printed curl line gets an answer', async () => {
  const answer = JSON.parse(await paste(curls[0] ?? 'false'))
  assert.equal(answer.choices[0].message.content, 'You said: Hello there')
})

test('the second curl line gets a stream', async () => {
  const lines = (await paste(curls[1] ?? 'false')).split('\n\n')
  assert.ok(lines.includes('data: [DONE]'))
  assert.ok(lines.length > 5)
})

test('the printed Python program gets an answer', async () => {
  await preparePython()
  const [block = 'false'] = /^python3 [\s\S]*?^END$/m.exec(printed) ?? []
  assert.equal(await paste(block, dirname(PYTHON)), 'You said: Hello there\n')
})
