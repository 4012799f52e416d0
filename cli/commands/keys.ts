/** `gw keys`: makes the keys with which clients call. */
import { hash, randomBytes } from 'node:crypto'
import { Command, InvalidArgumentError } from 'commander'
import type { ApiKeyRecord } from '../../dataplane/config/keys.ts'
import { isKeyPart, makeKey, prefixOf, RANDOM_BYTES } from '../key.ts'
import { commaList, futureMoment } from '../option-values.ts'
import {
  EXIT,
  endUsageWith64,
  type Format,
  formatOption,
  printText,
  printValue,
} from '../output.ts'

interface CreateOptions {
  readonly tenant: string
  readonly routes: readonly string[]
  readonly scopes?: readonly string[]
  readonly id?: string
  readonly environment: string
  readonly expires?: Date
  readonly output: Format
}

const create = new Command('create')
  .description('Make a key: it is printed once, its hash goes into the configuration.')
  .requiredOption('--tenant <name>', 'tenant whose limits and budgets the key uses')
  .requiredOption('--routes <names>', "routes it may use, by comma; '*' in quotes: all", commaList)
  .option('--scopes <names>', 'models:invoke, models:list; both if absent', commaList)
  .option('--id <id>', 'name of the key in logs and metrics; made from the tenant if absent', part)
  .option('--environment <name>', 'environment in which the key is known', part, 'live')
  .option('--expires <when>', 'ISO date or time, or a duration such as 90d', (text) =>
    futureMoment(text, Date.now()),
  )
  .addOption(formatOption())
  .action(createKey)

export const keys = endUsageWith64(
  new Command('keys').description('Make the keys with which clients call.').addCommand(create),
)

async function createKey(options: CreateOptions, command: Command): Promise<void> {
  const parts = {
    environment: options.environment,
    id: options.id ?? idFor(options.tenant, randomBytes(3)),
  }
  const key = makeKey(parts, randomBytes(RANDOM_BYTES))
  const { tenant, scopes, routes, expires } = options
  const record = await checked(command, {
    id: parts.id,
    tenant,
    hash: `sha256:${hash('sha256', key)}`,
    prefix: prefixOf(parts, key),
    ...(scopes === undefined ? {} : { scopes }),
    routes,
    ...(expires === undefined ? {} : { expires_at: expires.toISOString() }),
  })
  if (options.output !== 'table') return await printValue({ key, record }, options.output)
  const { stringify } = await import('yaml')
  const snippet = stringify([record], { lineWidth: 0 })
  printText(`\
The key, shown only this once; keep it where secrets are kept:

${key}

Its record, to be pasted under gw.api_keys; it holds only the hash of the key:

${snippet.replaceAll(/^(?=.)/gm, '    ')}`)
}

/** The record as the gateway would read it: what it would refuse is refused here already. */
async function checked(command: Command, draft: unknown): Promise<ApiKeyRecord> {
  const { ApiKey, SCOPES } = await import('../../dataplane/config/keys.ts')
  const result = ApiKey.safeParse(draft)
  if (!result.success) {
    const [field, index] = result.error.issues[0]?.path ?? []
    const written = Object(draft)[String(field)]
    const value = Array.isArray(written) ? written[Number(index)] : written
    const reason =
      field === 'scopes'
        ? `known scopes are ${SCOPES.join(' and ')}`
        : 'a name starts with a letter or digit and holds letters, digits and . _ : / -'
    command.error(`error: --${String(field)} ${JSON.stringify(value)} is not accepted; ${reason}`, {
      exitCode: EXIT.usage,
    })
  }
  return result.data
}

function part(text: string): string {
  if (isKeyPart(text)) return text
  const rule = 'letters, digits and hyphens, no underscore, at most 63, no hyphen in front'
  throw new InvalidArgumentError(`It may hold ${rule}.`)
}

/** Readable in logs, and different for each key of a tenant. */
function idFor(tenant: string, random: Buffer): string {
  const readable = tenant.replaceAll(/[^A-Za-z0-9]+/g, '-').replaceAll(/^-|-$/g, '')
  return `${readable.slice(0, 40) || 'key'}-${random.toString('hex')}`
}
