/** Every command that prints data prints it in the same formats; colours and ages are for people. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Command } from 'commander'
import { COMMANDS } from '../../cli/commands/index.ts'
import { fullTime, relativeTime, spanText } from '../../cli/printing/ages.ts'
import { paint } from '../../cli/printing/colours.ts'
import { FORMATS } from '../../cli/printing/formats.ts'

/** They run a program, write a file, open a page or print a script. */
const WITHOUT_DATA = ['run', 'init', 'console', 'completion']
/** A key is shown once, and `-o name` would lose it. */
const MAKE_A_KEY = ['keys create', 'keys rotate']

function leavesOf(command: Command, above = ''): [name: string, command: Command][] {
  const name = `${above}${command.name()}`
  if (command.commands.length === 0) return [[name, command]]
  return command.commands.flatMap((one) => leavesOf(one, `${name} `))
}

const leaves = COMMANDS.flatMap((command) => leavesOf(command))

for (const [name, command] of leaves) {
  if (WITHOUT_DATA.includes(name)) continue
  test(`gw ${name} prints its data in every format`, () => {
    const choices = command.options.find(({ long }) => long === '--output')?.argChoices ?? []
    const asked = FORMATS.filter((format) => format !== 'name' || !MAKE_A_KEY.includes(name))
    const missing = asked.filter((format) => !choices.includes(format))
    assert.deepEqual(missing, [], `${name} takes no formatOption()`)
  })
}

test('the commands without data, and those that make keys, are still there', () => {
  const names = leaves.map(([name]) => name)
  for (const name of [...WITHOUT_DATA, ...MAKE_A_KEY]) assert.ok(names.includes(name), name)
})

const NOW = Date.parse('2026-11-23T12:00:00Z')
const S = 1000
const spans = [
  [0, '0 s'],
  [119 * S, '119 s'],
  [120 * S, '2 min'],
  [330 * S, '5 min 30 s'],
  [45 * 60 * S, '45 min'],
  [200 * 60 * S, '3 h 20 min'],
  [25 * 3600 * S, '25 h'],
  [52 * 3600 * S, '2 d 4 h'],
  [300 * 86_400 * S, '300 d'],
  [830 * 86_400 * S, '2 y 100 d'],
  [10 * 365 * 86_400 * S, '10 y'],
] as const

for (const [milliseconds, text] of spans) {
  test(`${milliseconds} ms are ${text}, as kubectl rounds ages`, () => {
    assert.equal(spanText(milliseconds), text)
  })
}

test('a time is shown relative to now, in both directions', () => {
  assert.equal(relativeTime('2026-11-23T11:59:48Z', NOW), '12 s ago')
  assert.equal(relativeTime('2026-11-23T15:00:00Z', NOW), 'in 3 h')
  assert.equal(relativeTime('2026-11-23T12:00:00.400Z', NOW), '0 s ago')
  assert.equal(relativeTime(undefined, NOW), undefined)
  assert.equal(relativeTime('never', NOW), 'never')
  assert.equal(fullTime('2026-11-23T11:59:48.123Z', NOW), '11 s ago (2026-11-23T11:59:48Z)')
})

const { FORCE_COLOR, NO_COLOR, TERM } = process.env
after(() => restore({ FORCE_COLOR, NO_COLOR, TERM }))

function restore(env: NodeJS.ProcessEnv): void {
  for (const [name, value] of Object.entries(env)) {
    if (value === undefined) delete process.env[name]
    else process.env[name] = value
  }
}

const terminal = { isTTY: true } as NodeJS.WriteStream
const pipe = { isTTY: false } as NodeJS.WriteStream
const colours = [
  ['a terminal', terminal, {}, true],
  ['a pipe', pipe, {}, false],
  ['a terminal with NO_COLOR', terminal, { NO_COLOR: '1' }, false],
  ['a terminal that cannot', terminal, { TERM: 'dumb' }, false],
  ['a pipe with FORCE_COLOR', pipe, { FORCE_COLOR: '1' }, true],
  ['a terminal with FORCE_COLOR=0', terminal, { FORCE_COLOR: '0' }, false],
  ['a pipe with both', pipe, { FORCE_COLOR: '1', NO_COLOR: '1' }, true],
] as const

for (const [what, stream, env, isPainted] of colours) {
  test(`${what} gets ${isPainted ? 'colours' : 'plain text'}`, () => {
    restore({ FORCE_COLOR: undefined, NO_COLOR: undefined, TERM: 'xterm', ...env })
    assert.equal(paint('ok', 'green', stream), isPainted ? '\u001b[32mok\u001b[0m' : 'ok')
  })
}

test('--no-color wins over FORCE_COLOR', (t) => {
  restore({ FORCE_COLOR: '1' })
  const { argv } = process
  t.after(() => {
    process.argv = argv
  })
  process.argv = [...argv, '--no-color']
  assert.equal(paint('ok', 'green', terminal), 'ok')
})
