/** Asks a runtime for the tokens of a conversation, at its own tokenizer. */
import type { Section } from '../../config/schema/index.ts'
import type { UpstreamSettings } from '../../config/snapshot.ts'
import { parsed } from '../../json/values.ts'
import type { TokenQuestion } from '../../providers/facts-contract.ts'
import { openPool } from '../../upstream/connection/client.ts'
import { readBounded } from '../../upstream/target/bounded-body.ts'

const TIMEOUT_MS = 10_000
const ANSWER_BYTES_MAX = 16_777_216

/** The count, or the reason that it is missing. */
export async function askTokenCount(
  { path, write, read }: TokenQuestion,
  messages: readonly object[],
  settings: UpstreamSettings,
  section: Section,
): Promise<number | string> {
  const { origin, credential, model } = settings
  const pool = openPool(settings, section, 1)
  const authorization = credential === '' ? {} : { authorization: `Bearer ${credential}` }
  try {
    const answer = await pool.request({
      origin,
      path,
      method: 'POST',
      headers: { 'content-type': 'application/json', ...authorization, ...settings.headers },
      body: JSON.stringify(write(model, messages)),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    const bytes = await readBounded(answer.body, ANSWER_BYTES_MAX, 'the answer is too long')
    if (answer.statusCode !== 200) return `${path} answered with ${answer.statusCode}`
    return read(parsed(bytes.toString())) ?? `${path} answered without a count`
  } catch {
    return `${path} could not be asked`
  } finally {
    await pool.destroy()
  }
}
