/** The four questions of `gw init`, on a terminal or as options. */
import { createInterface } from 'node:readline/promises'
import type { ProviderFacts } from '../../dataplane/wire/provider-facts.ts'

export interface Answers {
  readonly provider: string
  readonly model: string
  /** Name of the variable; absent for model servers without a key. */
  readonly apiKeyEnv: string | undefined
  readonly endpoint: string | undefined
  readonly region: string | undefined
  readonly tenant: string
}

export interface Given {
  readonly provider?: string
  readonly model?: string
  readonly apiKeyEnv?: string
  readonly endpoint?: string
  readonly tenant?: string
}

/** Returns the answer; an empty one is the default, if there is one. */
type Ask = (question: string, initial: string | undefined, option: string) => Promise<string>

/** An answer that is missing, or not one of those that are possible. */
export class AnswerFault extends Error {}

export async function answersOf(
  given: Given,
  facts: Readonly<Record<string, ProviderFacts>>,
  ask: Ask,
): Promise<Answers> {
  const names = Object.keys(facts)
  const provider =
    given.provider ?? (await ask(`Provider (${names.join(', ')})`, 'openai', '--provider'))
  const chosen = facts[provider]
  if (chosen === undefined)
    throw new AnswerFault(`there is no provider "${provider}"; give one of ${names.join(', ')}`)
  const model = given.model ?? (await ask('Name of the model there', undefined, '--model'))
  const place = await placeOf(given, chosen, ask)
  const tenant =
    given.tenant ?? (await ask('Your team, which gets the first key', 'team', '--tenant'))
  return { provider, model, tenant, ...place }
}

/** A hosted API needs a key; a model server has an address. */
async function placeOf(
  given: Given,
  { name, hosted, port, defaultEndpoint }: ProviderFacts,
  ask: Ask,
) {
  const nothing = { apiKeyEnv: given.apiKeyEnv, endpoint: given.endpoint, region: undefined }
  // It takes its credentials from the environment, as every tool of AWS does.
  if (name === 'bedrock') {
    const region = process.env.AWS_REGION ?? 'us-east-1'
    return given.endpoint === undefined ? { ...nothing, region } : nothing
  }
  if (!hosted) {
    const usual = `http://127.0.0.1:${port ?? 8000}`
    return {
      ...nothing,
      endpoint: given.endpoint ?? (await ask('Its address', usual, '--endpoint')),
    }
  }
  const usual = `${name.toUpperCase()}_API_KEY`
  const endpoint =
    given.endpoint ??
    (defaultEndpoint === undefined ? await ask('Its address', undefined, '--endpoint') : undefined)
  const apiKeyEnv =
    given.apiKeyEnv ?? (await ask('Variable that has its API key', usual, '--api-key-env'))
  return { ...nothing, endpoint, apiKeyEnv }
}

/** Without a terminal, defaults are taken and other answers are options. */
export async function withQuestions<T>(use: (ask: Ask) => Promise<T>): Promise<T> {
  if (!process.stdin.isTTY || !process.stderr.isTTY) {
    return await use(async (_question, initial, option) => {
      if (initial !== undefined) return initial
      throw new AnswerFault(`without a terminal, give ${option}`)
    })
  }
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  try {
    return await use(async (question, initial) => {
      for (;;) {
        const said = await lines.question(
          `${question}${initial === undefined ? '' : ` [${initial}]`}: `,
        )
        const answer = said.trim() || initial
        if (answer !== undefined) return answer
      }
    })
  } finally {
    lines.close()
  }
}
