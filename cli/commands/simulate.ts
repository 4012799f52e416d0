/** `gw simulate`: an upstream without a model, for trying configurations. */
import { Command } from 'commander'
import { numberBetween, wholeNumber } from '../option-values.ts'
import { type Format, formatOption, printData } from '../printing/formats.ts'
import { EXIT, endUsageWith64, printLine, printRemark } from '../printing/output.ts'
import type { SimulatorOptions } from '../simulator/simulator.ts'

type SimulateOptions = SimulatorOptions & { readonly output: Format }

const MILLION = 1_000_000

export const simulate = endUsageWith64(
  new Command('simulate')
    .description('Run an OpenAI-compatible upstream that echoes prompts, to try a configuration.')
    .option('--port <port>', 'port to listen on; 0: a free one', wholeNumber(0, 65_535), 9000)
    .option('--host <address>', 'address to listen on', '127.0.0.1')
    .option('--model <name>', 'the only model that it serves; absent: it serves every name')
    .option('--latency-ms <n>', 'time to the first token', wholeNumber(0, MILLION))
    .option('--tokens-per-second <n>', 'pace of each answer', numberBetween(0.01, MILLION))
    .option(
      '--tokens <n>',
      'length of answers; absent: the length of the echo',
      wholeNumber(1, 65_536),
    )
    .option('--error-rate <fraction>', 'share of requests that fail, 0 to 1', numberBetween(0, 1))
    .option('--error-status <status>', 'status of these failures', wholeNumber(400, 599), 500)
    .option('--api-key <key>', 'key that callers must send')
    .option('--slots <n>', 'requests answered at a time; the others wait', wholeNumber(1, MILLION))
    .option(
      '--seed <n>',
      'seed of the random choices: which requests fail, and filler words',
      wholeNumber(0, MILLION),
    )
    .option(
      '--no-tool-calls',
      'answer agents in words: call a tool only where a request requires it',
    )
    .addOption(formatOption())
    .action(simulateUpstream),
)

async function simulateUpstream({ output, ...options }: SimulateOptions): Promise<void> {
  const { startSimulator } = await import('../simulator/simulator.ts')
  const simulator = await startSimulator(options).catch((error: NodeJS.ErrnoException) => {
    printRemark(`error: ${whyNotListening(error, options)}`)
    process.exitCode = EXIT.unanswered
  })
  if (simulator === undefined) return
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => void simulator.stop())
  }
  const baseUrl = `${simulator.url}/v1`
  const facts = { base_url: baseUrl, url: simulator.url, model: options.model ?? null }
  // One line, so that a script can read it while the program runs.
  if (output === 'json') return printLine(JSON.stringify(facts))
  const print = () => printLine(`The simulator answers at ${baseUrl}`)
  await printData(output, { value: facts, names: [baseUrl], print })
}

function whyNotListening(error: NodeJS.ErrnoException, options: SimulatorOptions): string {
  const place = `${options.host}:${options.port}`
  if (error.code === 'EADDRINUSE') return `${place} is in use; choose another with --port`
  if (error.code === 'EACCES') return `this user may not bind ${place}; choose a higher port`
  return `cannot listen on ${place}: ${error.message}`
}
