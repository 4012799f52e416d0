/** Each alert of the chart leads to its part of the page, with commands that exist. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Command } from 'commander'
import { parse } from 'yaml'
import { GROUPS } from '../../cli/commands/index.ts'
import { makeProgram } from '../../cli/program.ts'
import { readChart } from '../helpers/kubernetes/chart.ts'

interface Rule {
  readonly alert: string
  readonly annotations: Readonly<Record<string, string>>
}

const rules: Rule[] = parse(readChart('files/alerts.yaml')).groups.flatMap(
  (group: { rules: Rule[] }) => group.rules,
)
const [, ...parts] = readChart('docs/alerts.md').split(/^## /m)
const sections = new Map(parts.map((part) => [part.slice(0, part.indexOf('\n')), part]))

test('each alert links to its part of the page, and each part is of an alert', () => {
  const names = rules.map(({ alert }) => alert)
  assert.deepEqual([...sections.keys()], names)
  for (const { alert, annotations } of rules)
    assert.equal(annotations.runbook, `alerts.md#${alert.toLowerCase()}`)
})

test('a part says what the alert means, gives three commands, and says what to do', () => {
  for (const [alert, part] of sections) {
    assert.match(part, /^\*\*Means:\*\* /m, alert)
    assert.match(part, /^\*\*Do:\*\* /m, alert)
    assert.equal(commandsOf(part).length, 3, alert)
  }
})

test('the commands of gw exist, with their options', () => {
  for (const [alert, part] of sections)
    for (const line of commandsOf(part)) {
      const [tool, ...words] = line.split(' ')
      if (tool === 'gw') assert.equal(faultOf(words), undefined, `${alert}: ${line}`)
      else assert.equal(tool, 'kubectl', `${alert}: ${line}`)
    }
})

function commandsOf(part: string): string[] {
  const block = /```sh\n([\s\S]*?)```/.exec(part)?.[1] ?? ''
  return block.split('\n').filter((line) => line !== '')
}

/** The first word that is no command and no option. */
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
  return rest.find((word) => word.startsWith('-') && !options.includes(word))
}
