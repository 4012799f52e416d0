/** `gw config`: validates and explains a file, and shows the full configuration of a file or a gateway. */
import { readFileSync } from 'node:fs'
import { Command } from 'commander'
import type { Loaded } from '../../../dataplane/config/apart/loaded.ts'
import { bareName } from '../../asking/bare-name.ts'
import { addPlace, askedPlace, type PlaceOptions } from '../../asking/place.ts'
import { type Format, formatOption, printData } from '../../printing/formats.ts'
import { EXIT, endUsageWith64, printLine, printRemark, printText } from '../../printing/output.ts'

interface ValidateOptions {
  readonly file: string
  readonly explain?: true
  readonly strict?: true
  readonly cluster?: true
  readonly output: Format
}

interface ShowOptions extends PlaceOptions {
  readonly file?: string
  readonly output: Format
}

interface LoadedFile extends Loaded {
  /** TenantPolicies beside the configuration, if there are any. */
  readonly policies?: number
}

const FILE_FLAG = '-f, --file <path>'
const FILE_MEANING = 'configuration file; - reads standard input'

const validate = bareName(
  new Command('validate')
    .description(
      'Check a configuration file and list its mistakes; the file may also contain TenantPolicies.',
    )
    .requiredOption(FILE_FLAG, FILE_MEANING)
    .option('--explain', 'also describe what happens to a request on each route')
    .option('--strict', 'treat warnings as errors')
    .option(
      '--cluster',
      'check as gw apply does for a cluster; always on for a document with spec or metadata.namespace',
    )
    .addOption(formatOption()),
  '--file',
  validateFile,
)

const show = addPlace(
  new Command('show').description(
    'Print a configuration in canonical form, with all defaults: of a file, or what a gateway enforces.',
  ),
)
  .option(FILE_FLAG, `${FILE_MEANING}; absent: the tool asks a running gateway`)
  .requiredOption('--resolved', 'with references resolved and credentials hidden')
  .addOption(formatOption('yaml'))
  .action(showConfiguration)

export const config = endUsageWith64(
  new Command('config')
    .description('Validate and show configuration files.')
    .addCommand(validate)
    .addCommand(show),
)

async function validateFile(options: ValidateOptions): Promise<void> {
  const loaded = await load(options.file, { cluster: options.cluster === true })
  if (loaded === undefined) return
  const { configuration, problems } = loaded
  const isRefused =
    problems.some(({ severity }) => severity === 'error') ||
    (options.strict === true && problems.length > 0)
  process.exitCode = isRefused ? EXIT.no : EXIT.ok
  const { explain } = await import('../../../dataplane/config/shown/explain.ts')
  const explanation =
    options.explain === true && configuration !== undefined ? explain(configuration) : undefined
  const summary = { ok: !isRefused, file: loaded.file, ...countsOf(loaded), problems }
  const value = explanation === undefined ? summary : { ...summary, explanation }
  const print = () => printJudged(loaded, { isRefused, explanation })
  await printData(options.output, { value, names: [loaded.file], print })
}

interface Judged {
  readonly isRefused: boolean
  readonly explanation: string | undefined
}

async function printJudged(loaded: Loaded, { isRefused, explanation }: Judged): Promise<void> {
  const { problems, file } = loaded
  const { printProblems } = await import('../../printing/problems-text.ts')
  printProblems(problems)
  if (explanation !== undefined) printText(`${explanation}\n`)
  const counts = countWords(loaded)
  if (!isRefused) return printLine(`ok: ${file}: ${counts}`)
  const strictly = problems.every(({ severity }) => severity === 'warning') ? ' (--strict)' : ''
  printRemark(`refused: ${file}: ${counts}${strictly}`)
}

async function showConfiguration(options: ShowOptions, command: Command): Promise<void> {
  const { file, output } = options
  if (file !== undefined) return await showFile(file, output)
  const { withGateways } = await import('../../asking/asked-gateways.ts')
  const { name, status, body } = await withGateways(
    await askedPlace(options, command),
    async ([gateway]) => ({ name: gateway.name, ...(await gateway.ask('/config')) }),
  )
  if (status !== 200) throw new Error(`The gateway at ${name} answered with ${status}.`)
  await printConfiguration(body, { name, output })
}

async function showFile(file: string, output: Format): Promise<void> {
  const loaded = await load(file)
  if (loaded === undefined) return
  const { printProblems } = await import('../../printing/problems-text.ts')
  printProblems(loaded.problems)
  if (loaded.configuration === undefined) {
    process.exitCode = EXIT.no
    return printRemark(`refused: ${loaded.file}: ${countWords(loaded)}`)
  }
  const { printResolved, resolvedDocument } = await import(
    '../../../dataplane/config/shown/resolved.ts'
  )
  if (output === 'yaml') return printText(printResolved(loaded))
  await printConfiguration(resolvedDocument(loaded), { name: loaded.file, output })
}

async function printConfiguration(
  document: unknown,
  { name, output }: { readonly name: string; readonly output: Format },
): Promise<void> {
  const { printSections } = await import('../../printing/sections.ts')
  const print = (isWide: boolean) => printSections(document, isWide)
  await printData(output, { value: document, names: [name], print })
}

/**
 * Returns nothing if the file cannot be read. `judging`: the cluster's rules apply if the document is for a cluster,
 * or with `cluster`.
 */
async function load(
  path: string,
  judging?: { readonly cluster: boolean },
): Promise<LoadedFile | undefined> {
  const readText = (from: string) => readFileSync(from, 'utf8')
  const name = path === '-' ? 'stdin' : path
  let text: string
  try {
    text = path === '-' ? readFileSync(0, 'utf8') : readText(path)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    printRemark(`cannot read ${name}: ${reason}\n    fix: Give the path of a file with --file.`)
    process.exitCode = EXIT.unanswered
    return undefined
  }
  const { loadConfiguration } = await import('../../../dataplane/config/load.ts')
  const { withSpecProblems } = await import('../../apply/spec-check.ts')
  const { isForCluster, judgedForCluster } = await import('../../apply/cluster-check.ts')
  const { partsOf, withPolicyProblems } = await import('../../apply/policies-check.ts')
  const host = { env: process.env, readText, now: Date.now }
  const parts = partsOf(text, name)
  const own = parts?.configuration ?? text
  const alone = loadConfiguration(own, name, host, 'validate')
  const isJudgedThere = judging !== undefined && (judging.cluster || isForCluster(own, name))
  const loaded = isJudgedThere
    ? judgedForCluster(alone, own, judging.cluster)
    : withSpecProblems(alone, own)
  if (parts === undefined) return loaded
  const policies = parts.policies.length
  return { ...withPolicyProblems(loaded, parts, Date.now()), policies }
}

function countsOf({ configuration, problems, policies }: LoadedFile) {
  const gw = configuration?.gw
  const errors = problems.filter(({ severity }) => severity === 'error').length
  const found = { errors, warnings: problems.length - errors }
  if (gw === undefined) return found
  const { routes, upstreams, api_keys } = gw
  return {
    routes: routes.length,
    upstreams: upstreams.length,
    keys: api_keys.length,
    ...(policies !== undefined && { policies }),
    ...found,
  }
}

const SINGULAR: Readonly<Record<string, string>> = { policies: 'policy' }

/** `2 routes, 3 upstreams, 4 keys, 1 warning`; zero counts at the end are omitted. */
function countWords(loaded: LoadedFile): string {
  const counts = Object.entries(countsOf(loaded)).filter(
    ([what, count]) => count > 0 || (what !== 'errors' && what !== 'warnings'),
  )
  return counts
    .map(
      ([what, count]) =>
        `${count} ${count === 1 ? (SINGULAR[what] ?? what.replace(/s$/, '')) : what}`,
    )
    .join(', ')
}
