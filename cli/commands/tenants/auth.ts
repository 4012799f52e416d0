/** `gw auth`: the answer that a key gets. */
import { hash } from 'node:crypto'
import { Command } from 'commander'
import { keyOption, routeOption, urlFlag } from '../../asking/client-options.ts'
import { addPlace, askedPlace, type PlaceOptions } from '../../asking/place.ts'
import { wholeNumber } from '../../option-values.ts'
import { type Format, formatOption, printData } from '../../printing/formats.ts'
import { EXIT, endUsageWith64, printLine } from '../../printing/output.ts'

interface AuthTestOptions extends PlaceOptions {
  readonly key?: string
  readonly route?: string
  readonly url?: string
  readonly expect: number
  readonly output: Format
}

const test = addPlace(
  new Command('test')
    .description(
      'Show which status a key gets; exits with 1 if it is not the expected one. With --url the tool sends a real request.',
    )
    .addOption(keyOption('the key').makeOptionMandatory()),
)
  .addOption(routeOption())
  .option('--expect <status>', 'the expected status', wholeNumber(100, 599), 200)
  .addOption(urlFlag())
  .addOption(formatOption())
  .action(testKey)

export const auth = endUsageWith64(
  new Command('auth').description('Test the answer that a key gets.').addCommand(test),
)

async function testKey(options: AuthTestOptions, command: Command): Promise<void> {
  const { key = '', route, url, expect, output } = options
  const { status, why } =
    url === undefined ? await judged(key, options, command) : await sent({ url, key }, route)
  const isExpected = status === expect
  if (!isExpected) process.exitCode = EXIT.no
  const verdict = isExpected ? 'as expected' : `expected ${expect}`
  await printData(output, {
    value: { status, expected: expect, ok: isExpected, why, route },
    names: [String(status)],
    print: () => printLine(`${status}: ${why} (${verdict})`),
  })
}

/** The header of a JSON web token is an object: it begins with `{"`. */
const TOKEN = /^eyJ[\w-]*\.[\w-]+\.[\w-]*$/
const TOKEN_REMARK =
  'error: only a real request shows the answer to a token of an issuer; add --url with the address that clients call'

/** The gateway judges the key; the tool sends only its hash. */
async function judged(key: string, options: AuthTestOptions, command: Command) {
  if (TOKEN.test(key)) return command.error(TOKEN_REMARK, { exitCode: EXIT.usage })
  const { route } = options
  const query = new URLSearchParams({
    key_hash: hash('sha256', key),
    ...(route !== undefined && { model: route }),
  })
  const { withGateways } = await import('../../asking/asked-gateways.ts')
  const { status, body } = await withGateways(await askedPlace(options, command), ([gateway]) =>
    gateway.ask(`/explain?${query}`),
  )
  const { ExplainAnswer, ExplainRefusal } = await import('../../printing/tables/explanation.ts')
  if (status === 404) return { status: 404, why: ExplainRefusal.parse(body).error.message }
  const verdict = status === 200 ? ExplainAnswer.parse(body).key : undefined
  if (verdict === undefined) throw new Error(`The gateway answered with ${status}.`)
  return { status: verdict.status, why: verdict.why }
}

/** The request takes the same path as a client's, because a proxy may remove the header. */
async function sent(calling: { url: string; key: string }, route: string | undefined) {
  const { chat, listModels } = await import('../../asking/client-call.ts')
  const called = await (route === undefined ? listModels(calling) : chat(route, calling))
  const { status, code, message } = called
  return { status, why: code === undefined ? 'it was answered' : `${code}: ${message}` }
}
