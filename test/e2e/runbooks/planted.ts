/**
 * An incident of an alert: planted in a cluster until the alert's expression holds, and explained by the commands of its
 * page.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { gw } from '../../helpers/gw.ts'
import {
  commandsOf,
  END_WITH_1,
  filled,
  type Rule,
  SECTIONS,
} from '../../helpers/kubernetes/alert-page.ts'
import { providePrograms } from '../../helpers/kubernetes/programs.ts'
import { until } from '../../helpers/until.ts'
import { type Asked, NAME, type Rig } from '../incidents/rig.ts'
import type { Watch } from './watch.ts'

export interface Planted {
  readonly alert: string
  readonly what: string
  /** The gateway that the alert names, if it is not that of the rig. */
  readonly gateway?: string
  plant(rig: Rig): Promise<void>
  /** Requests of clients meanwhile. */
  readonly asks?: () => Asked
  /** A part of the output of each command that belongs to the incident. */
  readonly prints: readonly [RegExp, RegExp, RegExp]
  /** At least one of them prints it. */
  readonly cause: RegExp
  lift(rig: Rig): Promise<void>
}

export interface Shown {
  readonly alert: string
  readonly what: string
  /** From the plant until the expression held. */
  readonly seconds: number
  /** The commands that print the cause, by their places on the page. */
  readonly by: readonly number[]
  readonly line: string
}

const HOLDS_SECONDS_MAX = 180
const SHOWN_SECONDS_MAX = 60

export async function prove(rig: Rig, watch: Watch, rule: Rule, planted: Planted): Promise<Shown> {
  const { alert, what, gateway = NAME } = planted
  const ask = async () => {
    if (planted.asks !== undefined) await rig.ask(planted.asks())
  }
  const isQuiet = async () => (await watch.ask(rule.expr, gateway)).length === 0
  await watch.begin()
  await until(`${alert} does not hold before its incident`, isQuiet, SHOWN_SECONDS_MAX)
  const startedAt = performance.now()
  try {
    await planted.plant(rig)
    // An increase needs a sample from before the requests.
    if (planted.asks !== undefined) await watch.sees()
    const holds = async () => {
      await ask()
      return (await watch.ask(rule.expr, gateway)).length > 0
    }
    await until(`${alert} holds: ${rule.expr}`, holds, HOLDS_SECONDS_MAX)
    const seconds = (performance.now() - startedAt) / 1000
    const [series] = await watch.ask(rule.expr, gateway)
    assert.ok(series !== undefined, `${alert} held for a moment only`)
    const commands = commandsOf(SECTIONS.get(alert) ?? '').map((one) => filled(one, series.metric))
    const { by, line } = await shownBy(commands, planted, ask)
    const shown = { alert, what, seconds, by, line }
    process.stdout.write(`${rowOf(shown)}\n`)
    return shown
  } finally {
    await planted.lift(rig)
    await rig.enforced()
  }
}

/** Runs the commands until each prints its part: some parts, such as conditions, come a moment later. */
async function shownBy(
  commands: readonly string[],
  { prints, cause }: Planted,
  ask: () => Promise<void>,
) {
  const deadline = performance.now() + SHOWN_SECONDS_MAX * 1000
  for (;;) {
    const outputs = await Promise.all(commands.map(run))
    const lacking = prints.flatMap((part, index) =>
      part.test(outputs[index] ?? '') ? [] : [`${part} in: ${commands[index]}\n${outputs[index]}`],
    )
    const by = outputs.flatMap((output, index) => (cause.test(output) ? [index + 1] : []))
    if (lacking.length === 0 && by.length > 0) {
      const lines = outputs[(by[0] ?? 1) - 1]?.split('\n') ?? []
      const line = lines.find((one) => cause.test(one)) ?? lines.join(' ')
      return { by, line: cause.exec(line)?.[0] ?? line }
    }
    if (performance.now() > deadline) {
      const all = outputs.map((output, index) => `$ ${commands[index]}\n${output}`)
      assert.deepEqual(lacking, [])
      assert.fail(`no command prints ${cause}:\n${all.join('\n')}`)
    }
    await ask()
  }
}

/** Its whole output. Rejects if it ends with another code than its page says. */
async function run(command: string): Promise<string> {
  const [tool, ...words] = command.split(' ')
  const kubeconfig = ['--kubeconfig', process.env.E2E_KUBECONFIG ?? '']
  const { code, text } =
    tool === 'gw' ? await runTool(words, kubeconfig) : await runKubectl(words, kubeconfig)
  const mayBe = END_WITH_1.some((one) => command.startsWith(`${one} `)) ? [0, 1] : [0]
  assert.ok(mayBe.includes(code ?? -1), `${command} ended with ${code}:\n${text}`)
  return text
}

async function runTool(words: readonly string[], kubeconfig: readonly string[]) {
  const { code, stdout, stderr } = await gw(...words, ...kubeconfig)
  return { code, text: stdout + stderr }
}

async function runKubectl(words: readonly string[], kubeconfig: readonly string[]) {
  const { kubectl = 'kubectl' } = await providePrograms(['kubectl'])
  return await new Promise<{ code: number; text: string }>((resolve) => {
    const options = { maxBuffer: 1 << 26 }
    execFile(kubectl, [...words, ...kubeconfig], options, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : -1
      resolve({ code, text: stdout + stderr })
    })
  })
}

const LINE_MAX = 200

export function rowOf({ alert, what, seconds, by, line }: Shown): string {
  const text = line.trim().replaceAll(/\s+/g, ' ').replaceAll('|', '\\|').slice(0, LINE_MAX)
  return `| ${alert} | ${what} | ${seconds.toFixed(0)} | ${by.join(', ')} | ${text} |`
}
