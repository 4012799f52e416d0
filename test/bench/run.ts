/** Measures the gateway against nginx in one run: `node test/bench/run.ts [--quick]`. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { VARIANTS } from './gateway.ts'
import { measureGrowth } from './growth.ts'
import { measureIdleStreams, measureRounds, type Readings } from './measure.ts'
import { measureObservation } from './observation.ts'
import { measureOperations } from './operations.ts'
import { type Plan, QUICK_PLAN, WHOLE_PLAN } from './plan.ts'
import { LOAD_CORE } from './processes.ts'
import { describeRedis } from './redis.ts'
import { type Report, writeReport } from './report.ts'
import { type Rig, startRig } from './rig.ts'
import { compilePrograms, describeMachine, missingTools, type Programs } from './tools.ts'
import { measureTranslation } from './translation.ts'

/**
 * nginx reserves memory for each connection it may have. Each stream counts twice; if less than a sixteenth of all is
 * free, nginx closes connections without a request.
 */
const NGINX_CONNECTIONS = 1_024
const NGINX_IDLE_CONNECTIONS = 21_500

const OPTIONS = {
  quick: { type: 'boolean', default: false },
  main: { type: 'string', default: 'dataplane/main.ts' },
  column: { type: 'string', multiple: true, default: [] as string[] },
  'no-gateway': { type: 'boolean', default: false },
} as const

interface Arguments {
  readonly plan: Plan
  readonly gatewayMain: string | undefined
  readonly isQuick: boolean
  /** Only these of the gateway's columns, and no other table; all if it is empty. */
  readonly columns: readonly string[]
  /** Only a whole run of the repository's own gateway is kept. */
  readonly isForTheRecord: boolean
}

const root = resolve(import.meta.dirname, '../..')
await main(readArguments())

async function main(settings: Arguments): Promise<void> {
  const problems = missingTools()
  if (settings.gatewayMain !== undefined && !existsSync(resolve(root, settings.gatewayMain))) {
    problems.push(`${settings.gatewayMain} does not exist; --no-gateway measures nginx alone`)
  }
  if (problems.length > 0) {
    for (const problem of problems) console.error(problem)
    process.exit(1)
  }
  stayOffMeasuredCore()
  const directory = mkdtempSync(join(tmpdir(), 'gw-bench-'))
  process.once('exit', () => rmSync(directory, { recursive: true, force: true }))
  const programs = compilePrograms(import.meta.dirname)
  const readings = await measureAll(settings, programs, directory)
  const report = writeReport(readings, [...describeMachine(root), describeRedis()], settings.plan)
  if (settings.columns.length > 0) return finish(report.markdown, report.failures, false)
  const operations = await operationsOf(settings, programs, directory)
  const growth = await growthOf(settings, programs, directory)
  const observation = await observationOf(settings, programs, directory)
  const tables = [...[report, operations].map((one) => one?.markdown ?? ''), growth, observation]
  const markdown = `${tables.join('\n')}\n${measureTranslation(settings.plan.rounds)}`
  const failures = report.failures + (operations?.failures ?? 0)
  finish(markdown, failures, settings.isForTheRecord)
}

function finish(markdown: string, failures: number, isForTheRecord: boolean): void {
  console.log(markdown)
  if (failures > 0) {
    console.error(`${failures} requests failed: these numbers prove nothing`)
    process.exitCode = 1
  } else if (isForTheRecord) {
    writeFileSync(join(import.meta.dirname, 'results.md'), markdown)
  }
}

async function operationsOf(
  { gatewayMain, plan }: Arguments,
  programs: Programs,
  directory: string,
): Promise<Report | undefined> {
  if (gatewayMain === undefined) return undefined
  return await measureOperations({ root, main: gatewayMain, directory, programs, plan })
}

async function observationOf(
  { gatewayMain: main, plan }: Arguments,
  programs: Programs,
  directory: string,
): Promise<string> {
  if (main === undefined) return ''
  return await measureObservation({ root, main, directory, programs, plan })
}

/** Ten thousand of anything takes minutes to measure. */
async function growthOf(
  { gatewayMain, plan, isQuick }: Arguments,
  programs: Programs,
  directory: string,
): Promise<string> {
  if (gatewayMain === undefined || isQuick) return ''
  const own = join(directory, 'growth')
  mkdirSync(own)
  const { rounds } = plan
  return await measureGrowth({ root, main: gatewayMain, directory: own, programs, rounds })
}

function readArguments(): Arguments {
  const { values } = parseArgs({ options: OPTIONS })
  const isDefault = values.main === OPTIONS.main.default && !values['no-gateway']
  return {
    plan: values.quick ? QUICK_PLAN : WHOLE_PLAN,
    gatewayMain: values['no-gateway'] ? undefined : values.main,
    isQuick: values.quick === true,
    columns: columnsOf(values.column),
    isForTheRecord: isDefault && !values.quick && values.column.length === 0,
  }
}

function columnsOf(names: readonly string[]): readonly string[] {
  const unknown = names.find((name) => !Object.hasOwn(VARIANTS, name))
  if (unknown === undefined) return names
  console.error(`There is no column "${unknown}"; name one of ${Object.keys(VARIANTS).join('; ')}.`)
  process.exit(64)
}

/** This process samples memory while loads run, and must not take time from the measured processes. */
function stayOffMeasuredCore(): void {
  execFileSync('taskset', ['-a', '-p', '-c', String(LOAD_CORE), String(process.pid)])
}

/** Memory with idle streams is measured on fresh processes, without an earlier load. */
async function measureAll(
  settings: Arguments,
  programs: Programs,
  directory: string,
): Promise<Readings> {
  const { plan } = settings
  const start = (name: string, idleStreams: boolean) => {
    mkdirSync(join(directory, name))
    return startRig({
      root,
      gatewayMain: settings.gatewayMain,
      upstreamProgram: programs.upstream,
      directory: join(directory, name),
      eventsPerStream: plan.eventsPerStream,
      eventIntervalMs: plan.eventIntervalMs,
      idleStreams,
      columns: settings.columns,
      connectionsMax: idleStreams ? NGINX_IDLE_CONNECTIONS : NGINX_CONNECTIONS,
    })
  }
  const rounds = await use(start('rounds', false), (rig) => measureRounds(rig, programs.load, plan))
  const idle = await use(start('idle', true), (rig) => measureIdleStreams(rig, programs.load, plan))
  for (const [name, more] of idle) rounds.get(name)?.push(...more)
  return rounds
}

async function use<Result>(starting: Promise<Rig>, work: (rig: Rig) => Promise<Result>) {
  const rig = await starting
  try {
    return await work(rig)
  } finally {
    await rig.stop()
  }
}
