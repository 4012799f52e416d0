/** Each alert of the chart leads to its part of the page, with commands that exist. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Command } from 'commander'
import { GROUPS } from '../../cli/commands/index.ts'
import { makeProgram } from '../../cli/program.ts'
import { commandsOf, RULES, SECTIONS } from '../helpers/kubernetes/alert-page.ts'

test('each alert links to its part of the page, and each part is of an alert', () => {
  const names = RULES.map(({ alert }) => alert)
  assert.deepEqual([...SECTIONS.keys()], names)
  for (const { alert, annotations } of RULES)
    assert.equal(annotations.runbook, `alerts.md#${alert.toLowerCase()}`)
})

test('a part says what the alert means, gives three commands, and says what to do', () => {
  for (const [alert, part] of SECTIONS) {
    assert.match(part, /^\*\*Means:\*\* /m, alert)
    assert.match(part, /^\*\*Do:\*\* /m, alert)
    assert.equal(commandsOf(part).length, 3, alert)
  }
})

test('the commands of gw exist, with their options', () => {
  for (const [alert, part] of SECTIONS)
    for (const line of commandsOf(part)) {
      const [tool, ...words] = line.split(' ')
      if (tool === 'gw') assert.equal(faultOf(words), undefined, `${alert}: ${line}`)
      else assert.equal(tool, 'kubectl', `${alert}: ${line}`)
    }
})

/** The first option that is needed and missing, or word that is no command and no option. */
function faultOf(words: readonly string[]): string | undefined {
  let command: Command = makeProgram('gw', GROUPS)
  const [...rest] = words
  while (command.commands.length > 0) {
    const name = rest.shift()
    const found = command.commands.find((one) => one.name() === name)
    if (found === undefined) return name ?? 'a command is missing'
    command = found
  }
  const options = command.options.flatMap(({ short, long }) => [short, long])
  const missing = command.options.find(
    ({ mandatory, short, long }) =>
      mandatory && !rest.some((word) => word === short || word === long),
  )
  return missing?.long ?? rest.find((word) => word.startsWith('-') && !options.includes(word))
}
