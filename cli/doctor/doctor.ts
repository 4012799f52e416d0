/** Runs every check, and prints what it found with the fixes. */
import { existsSync, readFileSync } from 'node:fs'
import { loadConfiguration } from '../../dataplane/config/load.ts'
import { PROVIDER_FACTS } from '../../dataplane/providers/index.ts'
import type { Configuration } from '../../dataplane/schema/index.ts'
import { askAdmin } from '../asking/connection.ts'
import { type LocalGateway, localGateways } from '../asking/local-gateways.ts'
import { type Colour, paint } from '../printing/colours.ts'
import { type Format, printData } from '../printing/formats.ts'
import { EXIT, printLine } from '../printing/output.ts'
import { printTable } from '../printing/tables/table.ts'
import { type Check, found, type Result } from './check.ts'
import { nodeCheck, portCheck, socketChecks, versionCheck } from './machine.ts'
import { clockCheck, dateAt, type Reached, reachCheck } from './network.ts'
import { upstreamChecks } from './running.ts'

const USUAL_FILE = 'gw.yaml'

export interface Examining {
  readonly file?: string | undefined
  readonly admin?: string | undefined
  readonly output: Format
}

export async function runDoctor({ file, admin, output }: Examining): Promise<void> {
  const checks = await examined({ file, admin })
  if (checks.some(({ result }) => result === 'failed')) process.exitCode = EXIT.no
  const names = checks.filter(({ result }) => result !== 'ok').map(({ subject }) => subject)
  await printData(output, { value: { checks }, names, print: (isWide) => print(checks, isWide) })
}

async function examined({ file, admin }: Pick<Examining, 'file' | 'admin'>): Promise<Check[]> {
  const living = await localGateways()
  const asked = admin === undefined ? living.map((one) => one.admin) : [admin]
  const running = await Promise.all(asked.map(gatewayChecks))
  const path = file ?? (existsSync(USUAL_FILE) ? USUAL_FILE : undefined)
  const written = path === undefined ? [] : await fileChecks(path, living)
  const none = found('gateway', 'this machine').warning(
    'no gateway of yours runs',
    'Start one: gw run --file FILE',
  )
  return [
    nodeCheck(),
    ...socketChecks(living),
    ...(asked.length === 0 ? [none] : running.flat()),
    ...written,
  ]
}

async function gatewayChecks(admin: string): Promise<Check[]> {
  try {
    const { body } = await askAdmin(admin, '/status')
    const { version } = Object(body)
    return [versionCheck(admin, String(version)), ...upstreamChecks(body)]
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    return [found('gateway', admin).failed(message, 'Start it, or give its address with --admin.')]
  }
}

async function fileChecks(path: string, living: readonly LocalGateway[]): Promise<Check[]> {
  const { ok, failed } = found('configuration', path)
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    return [
      failed(
        `cannot be read: ${error instanceof Error ? error.message : error}`,
        'Give its path with --file.',
      ),
    ]
  }
  const host = {
    env: process.env,
    readText: (from: string) => readFileSync(from, 'utf8'),
    now: Date.now,
  }
  const { configuration, problems } = loadConfiguration(text, path, host, 'validate')
  if (configuration === undefined) {
    const errors = problems.filter(({ severity }) => severity === 'error')
    const [first] = errors
    const more = errors.length > 1 ? `, and ${errors.length - 1} more` : ''
    return [
      failed(
        `${first?.path}: ${first?.message}${more}`,
        `See them all: gw config validate ${path}`,
      ),
    ]
  }
  return [ok('valid'), ...(await sectionChecks(configuration.gw, living))]
}

async function sectionChecks(
  { gateway, upstreams, rate_limits }: Configuration['gw'],
  living: readonly LocalGateway[],
) {
  const { listen_port, metrics_port, listen_address } = gateway
  const host = listen_address ?? '127.0.0.1'
  const ours = new Set(
    living.flatMap(({ listenPort }) =>
      listenPort === listen_port ? [listen_port, metrics_port] : [],
    ),
  )
  const reached = upstreams.flatMap((one): Reached[] => {
    const url = one.endpoint ?? usualAddress(one)
    return url === undefined ? [] : [{ name: one.name, url }]
  })
  const redis = rate_limits?.redis?.url
  const [first] = reached.filter(({ url }) => url.startsWith('http'))
  return await Promise.all([
    portCheck({ field: 'listen_port', port: listen_port, host }, ours),
    portCheck({ field: 'metrics_port', port: metrics_port, host: '127.0.0.1' }, ours),
    ...reached.map((one) => reachCheck('upstream', one)),
    ...(redis === undefined
      ? []
      : [reachCheck('redis', { name: 'rate_limits.redis', url: redis })]),
    ...(first === undefined
      ? []
      : [dateAt(first.url).then((date) => clockCheck(date, first.name, Date.now()))]),
  ])
}

type UpstreamEntry = Configuration['gw']['upstreams'][number]

function usualAddress({ provider, api_version, deployment, region, project }: UpstreamEntry) {
  const { defaultEndpoint } = PROVIDER_FACTS[provider]
  if (typeof defaultEndpoint !== 'function') return defaultEndpoint
  return defaultEndpoint({ apiVersion: api_version, deployment, region, project })
}

const COLOURS: Readonly<Record<Result, Colour>> = { ok: 'green', warning: 'yellow', failed: 'red' }

function print(checks: readonly Check[], isWide: boolean): void {
  const rows = checks.map(({ check, subject, result, detail }) => [
    check,
    { text: result, colour: COLOURS[result] },
    subject,
    detail,
  ])
  printTable(['CHECK', 'RESULT', 'SUBJECT', 'DETAIL'], rows, isWide)
  for (const { subject, result, fix } of checks)
    if (fix !== undefined)
      printLine(
        `\n${paint(`${result}:`, COLOURS[result], process.stdout)} ${subject}\n    fix: ${fix}`,
      )
}
