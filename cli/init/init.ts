/** Asks, writes a configuration that a gateway takes, and shows its first key once. */
import { writeFileSync } from 'node:fs'
import type { Command } from 'commander'
import { loadConfiguration } from '../../dataplane/config/load.ts'
import { PROVIDER_FACTS } from '../../dataplane/providers/index.ts'
import { idFor, make, WishError } from '../keys/making.ts'
import { AnswerIsNo, EXIT, printRemark, printText } from '../printing/output.ts'
import { printProblems } from '../printing/problems-text.ts'
import { firstDocument, listenPortBeside, ROUTE } from './document.ts'
import { AnswerFault, answersOf, type Given, withQuestions } from './questions.ts'

export interface InitOptions extends Given {
  readonly file: string
}

export async function runInit(options: InitOptions, command: Command): Promise<void> {
  const { file } = options
  const fail = (message: string) => command.error(`error: ${message}`, { exitCode: EXIT.usage })
  const answers = await withQuestions((ask) => answersOf(options, PROVIDER_FACTS, ask)).catch(
    (error: Error) => (error instanceof AnswerFault ? fail(error.message) : Promise.reject(error)),
  )
  const { tenant, apiKeyEnv } = answers
  const { key, record } = madeFor(tenant, fail)
  const text = firstDocument(answers, record, file)
  const judged = loadConfiguration(
    text,
    file,
    { env: envWith(apiKeyEnv), readText: () => '', now: Date.now },
    'validate',
  )
  if (judged.configuration === undefined) {
    printProblems(judged.problems)
    process.exitCode = EXIT.no
    return printRemark(`refused: nothing was written to ${file}`)
  }
  write(file, text)
  printText(nextSteps({ file, key, apiKeyEnv, port: listenPortBeside(answers.endpoint) }))
}

function madeFor(tenant: string, fail: (message: string) => never) {
  try {
    return make({ id: idFor(tenant).toLowerCase(), environment: 'live', tenant, routes: [ROUTE] })
  } catch (error) {
    if (error instanceof WishError) return fail(error.message)
    throw error
  }
}

/** The variable may be set only where the gateway runs. */
function envWith(variable: string | undefined): NodeJS.ProcessEnv {
  return variable === undefined ? process.env : { [variable]: 'any', ...process.env }
}

function write(file: string, text: string): void {
  try {
    writeFileSync(file, text, { flag: 'wx' })
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST')
      throw new AnswerIsNo(`${file} exists already; give another file with --file`)
    throw error
  }
}

interface FirstFile {
  readonly file: string
  readonly key: string
  readonly apiKeyEnv: string | undefined
  readonly port: number
}

function nextSteps({ file, key, apiKeyEnv, port }: FirstFile): string {
  const set = apiKeyEnv === undefined ? '' : `  export ${apiKeyEnv}=...\n`
  return `\
${file} is written. The key of your team is shown only once; store it like other secrets:

${key}

Start the gateway:

${set}  gw run --file ${file}

Ask it, in another terminal:

  curl http://127.0.0.1:${port}/v1/chat/completions \\
    -H 'Authorization: Bearer ${key}' -H 'Content-Type: application/json' \\
    -d '{"model":"${ROUTE}","messages":[{"role":"user","content":"Hello there"}]}'
`
}
