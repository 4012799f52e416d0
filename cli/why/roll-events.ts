/** The rolls of a gateway's pods: each ReplicaSet began one, and its image is the release. */
import { textOf, valueBelow } from '../../dataplane/json/values.ts'
import type { FactEvent } from '../../dataplane/why/facts.ts'
import type { KubeObject } from '../../operator/kube/objects.ts'

export function rollEvents(sets: readonly KubeObject[]): FactEvent[] {
  const rolls = sets
    .map(({ metadata: { name, creationTimestamp = '' }, spec }) => ({
      at: Date.parse(creationTimestamp),
      name,
      image: imageIn(spec),
    }))
    .toSorted((one, other) => one.at - other.at)
  return rolls.map(({ at, name, image }, index) => {
    const before = rolls[index - 1]?.image
    if (before === undefined || before === image) {
      const verb = before === undefined ? 'made' : 'replaced'
      const message = `The pods are ${verb} with ${image} (${name}).`
      return { at, event: 'roll', message, fields: { to: image } }
    }
    const message = `The pods get release ${image} instead of ${before} (${name}).`
    return { at, event: 'release', message, fields: { from: before, to: image } }
  })
}

function imageIn(spec: unknown): string {
  const containers = valueBelow(spec, 'template', 'spec', 'containers')
  const [first] = Array.isArray(containers) ? containers : []
  return textOf(valueBelow(first, 'image')) ?? 'an unknown image'
}
