/** `gw expose`: prints manifests for a controller in front of a gateway, such as an ingress. */
import { Command, InvalidArgumentError, Option } from 'commander'
import { FRONTS, type Front } from '../../expose/fronts.ts'
import type { Reached } from '../../expose/gateway.ts'
import { wholeNumber } from '../../option-values.ts'
import { type Format, formatOption, printData } from '../../printing/formats.ts'
import { EXIT, endUsageWith64, printRemark, printText } from '../../printing/output.ts'

interface ExposeOptions {
  readonly for: Front
  readonly file?: string
  readonly gateway?: NamedObject
  readonly namespace?: string
  readonly port?: number
  readonly host?: string
  readonly parent?: NamedObject
  readonly output: Format
}

interface NamedObject {
  readonly name: string
  readonly namespace?: string
}

const NAME = /^(?:([a-z0-9][-a-z0-9]*)\/)?([a-z0-9][-a-z0-9.]*)$/
const HOST = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/

export const expose = endUsageWith64(
  new Command('expose')
    .description('Print the manifests for a controller in front of a gateway.')
    .addOption(
      new Option('--for <front>', 'the controller in front').choices(FRONTS).makeOptionMandatory(),
    )
    .option('-f, --file <path>', 'GatewayConfig to expose; - reads standard input')
    .addOption(named('--gateway <name>', 'the GatewayConfig, NAME or NAMESPACE/NAME (production)'))
    .option('-n, --namespace <name>', 'namespace of the gateway (default)')
    .addOption(
      new Option('--port <number>', 'port of the Service of the gateway (80)').argParser(
        wholeNumber(1, 65_535),
      ),
    )
    .addOption(
      new Option('--host <name>', 'host name that clients call (models.example.com)').argParser(
        hostOf,
      ),
    )
    .addOption(named('--parent <name>', 'the Gateway in front, NAME or NAMESPACE/NAME (public)'))
    .addOption(formatOption('yaml'))
    .action(printManifests),
)

function named(flags: string, meaning: string): Option {
  return new Option(flags, meaning).argParser((text): NamedObject => {
    const [, namespace, name] = NAME.exec(text) ?? []
    if (name === undefined) throw new InvalidArgumentError('Give NAME or NAMESPACE/NAME.')
    return namespace === undefined ? { name } : { name, namespace }
  })
}

function hostOf(text: string): string {
  if (text.length <= 253 && HOST.test(text)) return text
  throw new InvalidArgumentError('Give a host name in lower case, such as models.example.com.')
}

async function printManifests(options: ExposeOptions): Promise<void> {
  const written = await readGateway(options.file)
  if (written === undefined) return
  const { RECIPES } = await import('../../expose/manifests.ts')
  const { gateway, namespace, port, host, parent } = options
  const hostname = written.hostnames.find((name) => !name.startsWith('*'))
  const exposed = {
    name: gateway?.name ?? written.name ?? 'production',
    namespace: gateway?.namespace ?? namespace ?? written.namespace ?? 'default',
    port: port ?? written.port ?? 80,
    host: host ?? hostname ?? 'models.example.com',
    parent: parent ?? written.parent ?? { name: 'public' },
    hasRoute: written.parent !== undefined,
  }
  const { says, manifests } = RECIPES[options.for]
  const items = manifests(exposed)
  if (items.length === 0) {
    return printRemark('You need no manifest: the operator creates the HTTPRoute of spec.route.')
  }
  if (options.output === 'yaml') {
    const { stringify } = await import('yaml')
    const documents = items.map((item) => stringify(item, { lineWidth: 0 }))
    return printText(`# ${says}\n${documents.join('---\n')}`)
  }
  const { rowOf, nameOf } = await import('../../expose/shown.ts')
  const { printTable } = await import('../../printing/tables/table.ts')
  await printData(options.output, {
    value: { apiVersion: 'v1', kind: 'List', items },
    names: items.map(nameOf),
    print: (isWide) => printTable(['KIND', 'NAMESPACE', 'NAME'], items.map(rowOf), isWide),
  })
}

/** The address of the gateway in a file. If the file cannot be read, prints why and returns undefined. */
async function readGateway(file: string | undefined): Promise<Reached | undefined> {
  if (file === undefined) return { hostnames: [] }
  const { readWritten } = await import('../../apply/document.ts')
  const { reachedBy } = await import('../../expose/gateway.ts')
  const written = readWritten(file)
  if (written === undefined) return undefined
  const reached = reachedBy(written)
  if (reached === undefined) process.exitCode = EXIT.no
  return reached
}
