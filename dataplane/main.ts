/** The program: `--config FILE` stand-alone, `--bundle FOLDER` in a pod. run.ts and run-pod.ts connect its parts. */
import { flushCompileCache } from 'node:module'
import { parseArgs } from 'node:util'
import { type Start, startAnew } from './base/start-anew.ts'
import { VERSION } from './base/version.ts'

/**
 * Most memory of a request is garbage at its end. A young generation of 4 MiB and one heap of the C library for all
 * threads save 50 of 195 MiB under load; the processor time stays (2 MiB cost a third more). Then 150 MiB remain, and
 * 120 if the memory of the compilers goes back to the system, which the C library would keep.
 */
export const SMALL: Start = {
  flags: ['--max-semi-space-size=4', ...flagsOnlyIn(process.versions.node)],
  variables: { MALLOC_ARENA_MAX: '1' },
}

/** Node does not start with an unknown flag, and Node 24 does not know this one, so other versions do without. */
export function flagsOnlyIn(version: string): readonly string[] {
  return version.startsWith('26.') ? ['--managed-zone-memory'] : []
}

/**
 * Runs the gateway of a file until a signal ends it. Resolves with the exit code. `logFormat` beats GW_LOG_FORMAT. Its
 * restart begins here, so that a gateway does not load the tool a second time.
 */
export async function run(file: string, logFormat?: string): Promise<number> {
  const format = logFormat === undefined ? [] : [`--log-format=${logFormat}`]
  startAnew(SMALL, process.env, [import.meta.filename, `--config=${file}`, ...format])
  // Registered before anything else, because the first process of a container does not end on signals by default.
  const ending = terminated()
  const env = environmentWith(logFormat)
  const { readConfigurationApart } = await import('./config/apart/load-apart.ts')
  // Read while the modules load. A failure is reported once they are.
  const reading = readConfigurationApart(file, env)
  reading.catch(() => undefined)
  await loadInParts()
  const program = await import('./process/run.ts')
  return await program.run({ file, reading }, env, ending)
}

/** Runs the gateway of a pod on the signed documents that are mounted and pushed. */
async function runPod(folder: string, logFormat: string | undefined): Promise<number> {
  startAnew(SMALL, process.env)
  const ending = terminated()
  await loadInParts()
  const program = await import('./pod/run-pod.ts')
  return await program.runPod(folder, environmentWith(logFormat), ending)
}

/**
 * Node keeps the stored code of each loaded module until a flush. Parts that load one after the other use the same
 * memory for it: 6 MiB less than all at once.
 */
async function loadInParts(): Promise<void> {
  const parts = [
    () => import('./telemetry/metrics.ts'),
    () => import('./upstream/live/targets.ts'),
    () => import('./apis/index.ts'),
    () => import('./listener/server.ts'),
  ]
  for (const load of parts) {
    await load()
    flushCompileCache()
  }
}

/** An option overrides the environment. */
function environmentWith(logFormat: string | undefined) {
  return logFormat === undefined ? process.env : { ...process.env, GW_LOG_FORMAT: logFormat }
}

/**
 * Resolves with the first SIGTERM or SIGINT, and keeps the handler, so that a second one never ends the process by
 * default.
 */
function terminated(): Promise<void> {
  return new Promise((resolve) => {
    process.on('SIGTERM', () => resolve())
    process.on('SIGINT', () => resolve())
  })
}

const USAGE = `\
gw data plane ${VERSION}: runs a gateway until SIGTERM.

Usage: node dataplane/main.ts [options]

  --config FILE    configuration file of a stand-alone gateway; \`gw run --file FILE\` is the same
  --bundle FOLDER  mounted documents of a pod                                (GW_BUNDLE_DIR)
  --log-format F   text, json, or auto: text on a terminal, else JSON        (GW_LOG_FORMAT)
  --version        the version
  --help           this text

GW_LISTEN_PORT, GW_METRICS_PORT, GW_ADMIN_PORT and GW_DRAIN_TIMEOUT_SECONDS beat the file.
GW_LISTEN_ADDRESS counts where the file has no listen_address.
`

function wanted() {
  const text = { type: 'string' } as const
  const flag = { type: 'boolean' } as const
  try {
    const options = { config: text, bundle: text, 'log-format': text, help: flag, version: flag }
    return parseArgs({ options }).values
  } catch (error) {
    return refuse(error instanceof Error ? error.message : String(error))
  }
}

function refuse(what: string): never {
  process.stderr.write(`error: ${what}\n`)
  process.exit(64)
}

async function main(): Promise<number> {
  const { config, bundle, 'log-format': logFormat, help, version } = wanted()
  if (help || version) {
    process.stdout.write(help ? USAGE : `${VERSION}\n`)
    return 0
  }
  if (config !== undefined && bundle !== undefined) refuse('give --config or --bundle, not both')
  if (config !== undefined) return await run(config, logFormat)
  // An option overrides the environment.
  const folder = bundle ?? process.env.GW_BUNDLE_DIR
  if (folder) return await runPod(folder, logFormat)
  return refuse(
    'say which configuration: node dataplane/main.ts --config FILE, or --bundle FOLDER (GW_BUNDLE_DIR) in a pod',
  )
}

if (import.meta.main) process.exit(await main())
