/** The help of the tool: groups, examples, exit codes; and causes of errors. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GROUPS } from '../../cli/commands/index.ts'
import { EXAMPLES, leavesOf, pathOf } from '../../cli/printing/examples.ts'
import { makeProgram } from '../../cli/program.ts'
import { refusingUrl } from '../helpers/fake-upstream.ts'
import { gw } from '../helpers/gw-here.ts'

const leaves = leavesOf(makeProgram('gw', GROUPS)).filter((command) => command.name() !== 'help')

test('gw --help shows the commands in groups', async () => {
  const { code, stdout } = await gw('--help')
  assert.equal(code, 0)
  for (const heading of Object.keys(GROUPS)) assert.ok(stdout.includes(`\n${heading}\n`), stdout)
  assert.ok(!stdout.includes('\nCommands:\n'))
})

for (const command of leaves) {
  const words = pathOf(command).slice(1)
  test(`gw ${words.join(' ')} --help ends with examples of this command`, async () => {
    const { code, stdout } = await gw(...words, '--help')
    assert.equal(code, 0)
    const [, examples = ''] = stdout.split('\nExamples:\n')
    const lines = examples
      .trim()
      .split('\n')
      .map((line) => line.trim())
    assert.ok(lines.length > 0 && lines[0] !== '', stdout)
    for (const line of lines) assert.ok(line.startsWith(`gw ${words.join(' ')}`), line)
  })
}

test('an example gives an option only values that it takes', () => {
  for (const command of leaves)
    for (const line of EXAMPLES[pathOf(command).slice(1).join(' ')] ?? [])
      for (const { long, short, parseArg } of command.options) {
        const given = line.match(new RegExp(`(?:${long}|${short ?? long})[ =](\\S+)`))?.[1]
        if (given !== undefined && parseArg !== undefined)
          assert.doesNotThrow(() => parseArg(given, undefined), line)
      }
})

test('every option in an example is one of its command', () => {
  for (const command of leaves) {
    const path = pathOf(command).slice(1).join(' ')
    const flags = command.options.flatMap(({ long, short }) => [long, short])
    for (const word of (EXAMPLES[path] ?? []).flatMap((line) => line.split(/[ =]/)))
      if (/^--?[a-z]/.test(word)) assert.ok(flags.includes(word), `${word} of ${path}`)
  }
  const known = new Set(leaves.map((command) => pathOf(command).slice(1).join(' ')))
  assert.deepEqual(
    Object.keys(EXAMPLES).filter((path) => !known.has(path)),
    [],
  )
})

test('gw help exit-codes prints each code with its meaning', async () => {
  const { code, stdout } = await gw('help', 'exit-codes')
  assert.equal(code, 0)
  for (const line of [
    /^0 +yes$/m,
    /^1 +the answer is no/m,
    /^2 +the question/m,
    /^64 +wrong usage$/m,
  ])
    assert.match(stdout, line)
})

test('gw help takes the words of a command, and refuses other words', async () => {
  assert.equal(
    (await gw('help', 'keys', 'list')).stdout,
    (await gw('keys', 'list', '--help')).stdout,
  )
  assert.equal((await gw('help')).stdout, (await gw('--help')).stdout)
  const { code, stderr } = await gw('help', 'nothing')
  assert.deepEqual([code, /there is no command 'nothing'/.test(stderr)], [64, true])
})

test('-v adds the cause of an error, and without it there is one line', async () => {
  const admin = await refusingUrl()
  const plain = await gw('status', '--admin', admin)
  assert.match(plain.stderr, /^error: [^\n]*\n$/)
  for (const flag of ['-v', '--verbose']) {
    const { code, stderr } = await gw('status', '--admin', admin, flag)
    assert.equal(code, 2)
    assert.ok(stderr.startsWith(plain.stderr))
    assert.match(stderr, /^ {2}cause: .*ECONNREFUSED/m)
  }
})
