/** `gw keys`: makes, lists, tests and revokes the keys of clients. */
import { Command, InvalidArgumentError, Option } from 'commander'
import { isKeyPart } from '../../../operator/keys/key-text.ts'
import { bareName } from '../../asking/bare-name.ts'
import {
  addPlace,
  type Place,
  type PlaceOptions,
  placeOf,
  writtenPlace,
} from '../../asking/place.ts'
import type { Made } from '../../keys/making.ts'
import { printMade } from '../../keys/printed.ts'
import { commaList, durationMs, futureMoment, namedValue } from '../../option-values.ts'
import { type Format, formatOption, keyFormatOption, printData } from '../../printing/formats.ts'
import { EXIT, endUsageWith64, printLine, printRemark } from '../../printing/output.ts'
import { importingKeys } from './keys-import.ts'

interface Common extends PlaceOptions {
  readonly file?: string
  readonly output: Format
}

interface CreateOptions extends Common {
  readonly tenant: string
  readonly routes: readonly string[]
  readonly scopes?: readonly string[]
  readonly tag?: Readonly<Record<string, string>>
  readonly id?: string
  readonly environment: string
  readonly expires?: Date
  readonly apply?: true
}

type FindOptions = Common & { readonly prefix?: string; readonly tenant?: string }
type KeyTestOptions = Common & {
  readonly id: string
  readonly scope: string
  readonly route?: string
}
type RevokeOptions = Common & { readonly id: string; readonly reason?: string }
type RotateOptions = Common & {
  readonly id: string
  readonly newId?: string
  readonly grace?: number
}

const FILE = 'keys file or configuration file, instead of asking a gateway'

const create = addPlace(
  new Command('create')
    .description('Create a key: the tool prints it once, and stores its hash in the configuration.')
    .requiredOption('--tenant <name>', 'tenant whose limits and budgets the key uses')
    .requiredOption(
      '--routes <names>',
      "routes that the key may use, separated by commas; '*' in quotes: all",
      commaList,
    ),
)
  .option('--scopes <names>', 'models:invoke, models:list; both if absent', commaList)
  .option(
    '--tag <name=value>',
    'tag of requests with the key, for counts of usage, such as team=blue; repeat it for more',
    namedValue,
  )
  .option(
    '--id <id>',
    'name of the key in logs and metrics; derived from the tenant if absent',
    part,
  )
  .option('--environment <name>', 'environment in the prefix of the key', part, 'live')
  .option('--expires <when>', 'ISO date or time, or a duration such as 90d', (text) =>
    futureMoment(text, Date.now()),
  )
  .addOption(
    new Option(
      '-f, --file <path>',
      'configuration file or keys file that gets the record',
    ).conflicts('apply'),
  )
  .option('--apply', 'store the record as a GatewayKey in the cluster')
  .addOption(keyFormatOption())
  .action(createKey)

const list = addPlace(
  new Command('list')
    .description('List keys: id, tenant, status, permissions. Never a key or its hash.')
    .option('--tenant <name>', 'only keys of this tenant'),
)
  .option('-f, --file <path>', FILE)
  .addOption(formatOption())
  .action(listKeys)

const inspect = bareName(
  addPlace(
    new Command('inspect')
      .description('Show the keys whose value starts with a prefix.')
      .requiredOption('--prefix <text>', 'first characters of the key, or the whole key'),
  )
    .option('-f, --file <path>', FILE)
    .addOption(formatOption()),
  '--prefix',
  inspectKey,
)

const test = bareName(
  addPlace(
    new Command('test')
      .description('Check whether a key has a permission; exits with 1 if not.')
      .requiredOption('--id <id>', 'name of the key'),
  )
    .addOption(
      new Option('--scope <scope>', 'permission to check')
        .choices(['models:invoke', 'models:list'])
        .default('models:invoke'),
    )
    .option('--route <name>', 'route or alias')
    .option('-f, --file <path>', FILE)
    .addOption(formatOption()),
  '--id',
  testKey,
)

const revoke = bareName(
  addPlace(
    new Command('revoke')
      .description('Revoke a key, in the cluster or in a file: requests with it get 401.')
      .requiredOption('--id <id>', 'name of the key'),
  )
    .option('--reason <text>', 'reason, shown by `gw keys inspect`')
    .option('-f, --file <path>', 'keys file or configuration file that has the key')
    .addOption(formatOption()),
  '--id',
  revokeKey,
)

const rotate = bareName(
  addPlace(
    new Command('rotate')
      .description(
        'Create a key that replaces another one, with the same tenant, scopes, routes and tags.',
      )
      .requiredOption('--id <id>', 'name of the key that is replaced'),
  )
    .option('--new-id <id>', 'name of the new key', part)
    .option(
      '--grace <time>',
      'grace period of the old key, such as 24h. Default: revoke at once; ' +
        'for keys made by the operator, the grace period of the operator',
      durationMs,
    )
    .option('-f, --file <path>', 'keys file or configuration file that has the key')
    .addOption(keyFormatOption()),
  '--id',
  rotateKey,
)

export const keys = endUsageWith64(
  new Command('keys')
    .description('Create, list, test and revoke the keys of clients.')
    .addCommand(create)
    .addCommand(list)
    .addCommand(inspect)
    .addCommand(test)
    .addCommand(revoke)
    .addCommand(rotate)
    .addCommand(importingKeys()),
)

async function createKey(options: CreateOptions, command: Command): Promise<void> {
  const { idFor, make, WishError } = await import('../../keys/making.ts')
  let made: Made
  try {
    made = make({
      ...options,
      tags: options.tag,
      id: options.id ?? idFor(options.tenant).toLowerCase(),
    })
  } catch (error) {
    if (!(error instanceof WishError)) throw error
    return command.error(`error: ${error.message}`, { exitCode: EXIT.usage })
  }
  const { file } = options
  if (file !== undefined) {
    const { storeInFile } = await import('../../keys/changes.ts')
    return await printMade(made, options, storeInFile(made.record, file))
  }
  if (options.apply) await storeKey(made, options, command)
  await printMade(made, options, options.apply ? 'the cluster' : undefined)
}

/** The record is stored before the key is shown, because a key without a record cannot be used. */
async function storeKey({ record }: Made, options: CreateOptions, command: Command) {
  const place = writtenPlace(options, command)
  if (place === undefined || place.kind === 'stand-alone') {
    const message = 'error: --apply stores a GatewayKey in a cluster; give -n and --gateway'
    command.error(message, { exitCode: EXIT.usage })
  }
  const { withCluster } = await import('../../asking/cluster-access.ts')
  const { createKey: create } = await import('../../keys/cluster.ts')
  const { inCluster } = await import('../../keys/changes.ts')
  await withCluster(place, (access) => create(access, inCluster(record)))
}

/** The tool asks no gateway for this. */
const NOWHERE: Place = { kind: 'stand-alone', admin: '' }

async function found(
  { file, prefix, tenant, id }: Partial<FindOptions & KeyTestOptions>,
  place: () => Promise<Place>,
) {
  const { findKeys } = await import('../../keys/source.ts')
  // With a file, the tool asks no gateway.
  const where = file === undefined ? await place() : NOWHERE
  return await findKeys({ id, prefix, tenant }, file, where)
}

async function listKeys(options: FindOptions, command: Command): Promise<void> {
  const { keys: all } = await found(options, () => placeOf(options, command))
  const { printKeys } = await import('../../keys/view.ts')
  const print = (isWide: boolean) => printKeys(all, isWide)
  await printData(options.output, { value: { keys: all }, names: all.map(({ id }) => id), print })
}

async function inspectKey(options: FindOptions, command: Command): Promise<void> {
  const { keys: all } = await found(options, () => placeOf(options, command))
  if (all.length === 0) {
    process.exitCode = EXIT.no
    return printRemark('error: No key has that prefix. A record without a prefix cannot be found.')
  }
  const { printKey } = await import('../../keys/view.ts')
  const print = () => {
    for (const [index, key] of all.entries()) {
      if (index > 0) printLine('')
      printKey(key)
    }
  }
  const value = all.length === 1 ? all[0] : all
  await printData(options.output, { value, names: all.map((key) => key.id), print })
}

async function testKey(options: KeyTestOptions, command: Command): Promise<void> {
  const { id, scope, route, output } = options
  const { keys: all, names } = await found({ ...options }, () => placeOf(options, command))
  const { verdictOn } = await import('../../keys/verdict.ts')
  const [key] = all
  const verdict =
    key === undefined
      ? { status: 401, why: `no key has the id "${id}"` }
      : verdictOn(key, { scope, route }, names)
  if (verdict.status !== 200) process.exitCode = EXIT.no
  const where = route === undefined ? '' : ` on route ${route}`
  const said = `${id} for ${scope}${where}: ${verdict.status}, ${verdict.why}`
  const value = { id, scope, route, ...verdict }
  await printData(output, { value, names: [id], print: () => printLine(said) })
}

async function revokeKey(options: RevokeOptions, command: Command): Promise<void> {
  const { id, reason, file, output } = options
  const { revoke: end } = await import('../../keys/changes.ts')
  const view = await end({ id, reason }, file, writtenPlace(options, command) ?? NOWHERE)
  const { fullTime } = await import('../../printing/ages.ts')
  const print = () => printLine(`key ${id} is revoked: ${fullTime(view.revoked_at)}`)
  await printData(output, { value: view, names: [id], print })
}

async function rotateKey(options: RotateOptions, command: Command): Promise<void> {
  const { id, newId, grace, file } = options
  const { rotate: replace } = await import('../../keys/changes.ts')
  const place = writtenPlace(options, command) ?? NOWHERE
  const made = await replace({ id, newId, graceMs: grace }, file, place)
  if ('secret' in made) {
    const { fullTime } = await import('../../printing/ages.ts')
    const end = fullTime(made.formerUntil)
    const former = end === undefined ? 'has ended' : `ends ${end}`
    const said = `The Secret ${made.secret} has the new key; the former one ${former}.`
    const print = () => printLine(said)
    return await printData(options.output, { value: made, names: [made.secret], print })
  }
  await printMade(made, options, file ?? 'the cluster')
}

function part(text: string): string {
  if (isKeyPart(text)) return text
  const rule = 'letters, digits and hyphens, no underscore, at most 63, no hyphen in front'
  throw new InvalidArgumentError(`It may hold ${rule}.`)
}
