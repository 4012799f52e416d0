/** The release before this one, from `former`, and what an upgrade to this one, or the way back, changes. */
import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { TYPE_NAMES } from '../../operator/rbac.ts'
import { until } from '../helpers/until.ts'
import { SPACE, SYSTEM } from './spaces.ts'
import {
  gatewayReady,
  imageValues,
  RELEASE,
  redisValues,
  rolledOut,
  SECONDS_MAX,
  type World,
} from './world.ts'

export interface Release {
  readonly chart: string
  readonly image: string
}

const FOLDER = join(import.meta.dirname, 'former')
const [ARCHIVE = ''] = readdirSync(FOLDER).filter((file) => file.endsWith('.tgz'))
/**
 * The image is built from the same commit; it is absent without the history: then the current image runs under the earlier
 * chart.
 */
const { E2E_FORMER_IMAGE } = process.env
/** The objects that the operator of a former release created for itself: no later release removes them. */
const OWN = ['secret/gw-operator-signing', 'lease/gw-operator']

export function formerRelease(world: World): Release {
  return { chart: ARCHIVE.replace('.tgz', ''), image: E2E_FORMER_IMAGE ?? world.image }
}

/** Installs it, or goes back to it. */
export async function installFormer(world: World, verb: 'install' | 'upgrade'): Promise<void> {
  const flags = verb === 'install' ? ['--create-namespace'] : ['--reset-values']
  const { image } = formerRelease(world)
  await world.helm(
    ...[verb, 'gw', join(FOLDER, ARCHIVE), '-n', SYSTEM, ...flags, '--wait'],
    ...['--timeout', `${SECONDS_MAX}s`, ...imageValues(image), ...redisValues()],
  )
}

/** Including its definitions, and therefore every gateway. */
export async function removeRelease(world: World): Promise<void> {
  await world.helm('uninstall', 'gw', '-n', SYSTEM, '--ignore-not-found', '--wait')
  await world.kubectl(['-n', SYSTEM, 'delete', ...OWN, '--ignore-not-found'])
  await world.kubectl(['delete', 'crd', '-l', RELEASE, '--ignore-not-found', '--wait'])
}

/** As the guide of upgrades says. */
export async function allowWayBack(world: World): Promise<void> {
  const allow = `inference.gw/allow-downgrade=${formerRelease(world).chart.replace('gw-', '')}`
  await world.kubectl(['annotate', 'crd', ...TYPE_NAMES, '--overwrite', allow])
  await world.kubectl(['annotate', 'deployment', 'gw', '-n', SYSTEM, '--overwrite', allow])
}

/** Resolves once operators, definitions and all pods of the gateway are of the release. */
export async function isServedBy(world: World, name: string, release: Release): Promise<void> {
  await rolledOut(world, 'deployment', 'gw', SYSTEM)
  const hasImage = async () =>
    JSON.stringify((await world.read('deployment', name)).spec).includes(`"${release.image}"`)
  await until(`${name} has the image ${release.image}`, hasImage, SECONDS_MAX)
  await rolledOut(world, 'deployment', name)
  await gatewayReady(world, name)
  assert.deepEqual(await chartsOfDefinitions(world), [release.chart])
}

/** The charts that the definitions name, each once. */
async function chartsOfDefinitions(world: World): Promise<string[]> {
  const get = ['get', 'crd', '-l', RELEASE, '-o', 'json']
  const { items } = JSON.parse(await world.kubectl(get))
  const charts = items.map(
    ({ metadata }: { metadata: { labels: Record<string, string> } }) =>
      metadata.labels['helm.sh/chart'] ?? 'none',
  )
  return [...new Set<string>(charts)]
}

/** Types, operators and pods: a rollback would change these. */
export async function rolledObjects(world: World, name: string): Promise<string> {
  const line = (...fields: readonly string[]) =>
    `jsonpath={range .items[*]}${fields.map((field) => `{${field}} `).join('')}{"\\n"}{end}`
  const ofKind = async (kind: string, space: string, select: string, ...fields: string[]) =>
    await world.kubectl(['-n', space, 'get', kind, '-l', select, '-o', line(...fields)])
  const image = '.spec.template.spec.containers[0].image'
  const operator = 'app.kubernetes.io/component=operator'
  return [
    await ofKind('crd', SYSTEM, RELEASE, '.metadata.name', '.metadata.generation'),
    await ofKind('deployment', SYSTEM, operator, '.metadata.name', image),
    await ofKind('pod', SPACE, `inference.gw/gateway=${name}`, '.metadata.name'),
  ].join('')
}
