/** The common part of all trials: one question, and an answer that is good, bad, or about something unknown. */
import { z } from 'zod'
import { withGateways } from '../asking/asked-gateways.ts'
import type { Asking } from '../asking/connection.ts'
import type { Place } from '../asking/place.ts'
import { type Format, printData } from '../printing/formats.ts'
import { EXIT, printRemark, telling } from '../printing/output.ts'

const Refusal = z.object({ error: z.object({ message: z.string() }) })

interface Trial<Answer> {
  readonly path: string
  readonly asking: Asking
  /** The slow work, in the words of a remark: `upstreams are tested`. */
  readonly what?: string
  readonly output: Format
  readonly read: (body: unknown) => Answer
  readonly isGood: (answer: Answer) => boolean
  /** For `-o name`. */
  readonly namesOf: (answer: Answer) => readonly string[]
  readonly print: (answer: Answer, isWide: boolean) => void
}

/** Asks the first gateway of a place, and prints its answer. */
export async function tryOut<Answer>(trial: Trial<Answer>, place: Place): Promise<void> {
  const { path, asking, what, output, read, isGood, namesOf, print } = trial
  const { name, status, body } = await withGateways(place, async ([first]) => {
    const answer = first.ask(path, asking)
    const awaited = what === undefined ? answer : telling(`${what} at ${first.name}`, answer)
    return { name: first.name, ...(await awaited) }
  })
  if (status === 404) {
    process.exitCode = EXIT.no
    return printRemark(`error: ${Refusal.parse(body).error.message}`)
  }
  if (status !== 200) throw new Error(`The gateway at ${name} answered with ${status}.`)
  const answer = read(body)
  if (!isGood(answer)) process.exitCode = EXIT.no
  const printAnswer = (isWide: boolean) => print(answer, isWide)
  await printData(output, { value: body, names: namesOf(answer), print: printAnswer })
}
