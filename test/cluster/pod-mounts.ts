/** The volumes of a pod as folders of this machine. */

import { randomInt } from 'node:crypto'
import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { isRecord, valueBelow } from '../../dataplane/json/values.ts'
import type { KubeObject } from '../../operator/kube/objects.ts'
import type { ObjectStore } from '../../operator/kube/watch/store.ts'

/** The files that pods may get: watched, as a kubelet does, and not polled. */
export interface Mountable {
  readonly configMaps: ObjectStore
  readonly secrets: ObjectStore
}

/** Writes each volume where a container would see it. Returns the folder by mount path. */
export async function mountAll(
  mountable: Mountable,
  pod: KubeObject,
  folder: string,
): Promise<Map<string, string>> {
  const mounted = new Map<string, string>()
  const volumes = valueBelow(pod, 'spec', 'volumes')
  const [container] = listOf(valueBelow(pod, 'spec', 'containers'))
  for (const mount of listOf(valueBelow(container, 'volumeMounts'))) {
    const path = String(valueBelow(mount, 'mountPath'))
    const volume = listOf(volumes).find(
      (one) => valueBelow(one, 'name') === valueBelow(mount, 'name'),
    )
    const isSecret = isRecord(valueBelow(volume, 'secret'))
    const place = isSecret ? join('secrets', path.split('/').at(-1) ?? '') : path.slice(1)
    const target = join(folder, place)
    mounted.set(path, target)
    const sources = sourcesOf(mountable, pod.metadata.namespace ?? '', volume)
    const version = sources.map(({ object }) => object?.metadata.resourceVersion ?? '').join(' ')
    if (written.get(target) === version) continue
    await mkdir(target, { recursive: true })
    await replaceAll(target, sources.flatMap(filesOf))
    written.set(target, version)
  }
  return mounted
}

/** Versions of the written objects, by folder. */
const written = new Map<string, string>()

interface Source {
  readonly object: KubeObject | undefined
  readonly items: readonly unknown[]
}

function sourcesOf(
  { configMaps, secrets }: Mountable,
  namespace: string,
  volume: unknown,
): Source[] {
  const secret = valueBelow(volume, 'secret', 'secretName')
  if (typeof secret === 'string') {
    return [{ object: secrets.get(`${namespace}/${secret}`), items: [] }]
  }
  const named = [
    ...listOf(valueBelow(volume, 'projected', 'sources')).map((one) =>
      valueBelow(one, 'configMap'),
    ),
    valueBelow(volume, 'configMap'),
  ].filter(isRecord)
  return named.map(({ name, items }) => ({
    object: configMaps.get(`${namespace}/${name}`),
    items: listOf(items),
  }))
}

function filesOf({ object, items }: Source): [string, Buffer][] {
  return contentsOf(object).flatMap(([key, content]): [string, Buffer][] => {
    const item = items.find((one) => valueBelow(one, 'key') === key)
    if (items.length > 0 && item === undefined) return []
    return [[String(valueBelow(item, 'path') ?? key), content]]
  })
}

/** A Secret encodes all values; a ConfigMap encodes only binary data. */
function contentsOf(object: KubeObject | undefined): [string, Buffer][] {
  const isSecret = typeof valueBelow(object, 'type') === 'string'
  const entriesOf = (member: string, encoding: BufferEncoding) =>
    Object.entries(valueBelow(object, member) ?? {}).map(([key, text]): [string, Buffer] => [
      key,
      Buffer.from(String(text), encoding),
    ])
  return [...entriesOf('data', isSecret ? 'base64' : 'utf8'), ...entriesOf('binaryData', 'base64')]
}

async function replaceAll(folder: string, files: readonly [string, Buffer][]): Promise<void> {
  for (const [name, content] of files) await replaceFile(join(folder, name), content)
  const names = new Set(files.map(([name]) => name))
  const gone = (await readdir(folder)).filter((name) => !names.has(name))
  for (const name of gone) await rm(join(folder, name), { force: true })
}

/** Atomically, because the data plane watches these files. */
async function replaceFile(path: string, content: Buffer): Promise<void> {
  const next = join(dirname(path), `..${randomInt(1e9)}`)
  await writeFile(next, content)
  await rename(next, path)
}

export function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : []
}
