/**
 * `spec.volumes`: folders that pods mount in addition to their own. None may name a Secret; use `${secret:NAME/KEY}`
 * for that.
 */
import { z } from 'zod'
import { label, line, map, objectName, ruled } from './fields.ts'

const relative = () =>
  line(1024)
    .min(1)
    .regex(/^[^/.][^/]*(\/[^/.][^/]*)*$/, 'must be a path below the volume')

const Items = z
  .array(z.strictObject({ key: line().min(1), path: relative() }))
  .max(64)
  .optional()
  .describe('Which entries, and their paths; all, by their names, if absent.')

const ConfigMap = z.strictObject({
  name: objectName(),
  items: Items,
  optional: z.boolean().optional().describe('Whether pods start without it.'),
})

const ServiceAccountToken = z.strictObject({
  audience: line(1024).min(1).describe('The service that accepts the token.'),
  expirationSeconds: z.int().min(600).max(86_400).optional().describe('3600 if absent.'),
  path: relative().describe('Its file below the volume.'),
})

const Source = ruled(
  z.strictObject({
    configMap: ConfigMap.optional(),
    serviceAccountToken: ServiceAccountToken.optional(),
  }),
  {
    rule: 'has(self.configMap) != has(self.serviceAccountToken)',
    message: 'needs exactly one of configMap, serviceAccountToken',
    holds: ({ configMap, serviceAccountToken }) =>
      (configMap === undefined) !== (serviceAccountToken === undefined),
  },
)

const Csi = z.strictObject({
  driver: line(63)
    .regex(/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/, 'must be lower-case letters, digits, - and .')
    .describe('Name of the driver, such as secrets-store.csi.k8s.io.'),
  volumeAttributes: map(32, 4096).optional().describe('Settings of the driver.'),
})

/** Folders of the image, of the node, and those that the operator mounts. */
const TAKEN =
  '^/(app|bin|boot|dev|etc/gw|home|lib[0-9]*|proc|root|sbin|sys|tmp|usr|var/run/secrets/gw)(/.*)?$'
/** A volume mounted here would hide one of them. */
const ABOVE = '^/(etc|var|var/run|var/run/secrets|run|opt|srv|mnt)?/?$'

const mountPath = () =>
  ruled(
    line(1024).regex(
      /^(\/[A-Za-z0-9_-][A-Za-z0-9._-]*)+$/,
      'must be a path from the root, such as /mnt/ca',
    ),
    {
      rule: `!self.matches('${TAKEN}') && !self.matches('${ABOVE}')`,
      message: 'is a folder that the pod uses itself; choose another one, such as /mnt/ca',
      holds: (path) => !new RegExp(TAKEN).test(path) && !new RegExp(ABOVE).test(path),
    },
  )

export const Volume = ruled(
  z.strictObject({
    name: label().describe('Any name; it must be unique among the volumes.'),
    mountPath: mountPath().describe('The path in the pods, read-only.'),
    csi: Csi.optional().describe('A driver provides it.'),
    configMap: ConfigMap.optional().describe('The entries of a ConfigMap as files.'),
    projected: z
      .strictObject({ sources: z.array(Source).min(1).max(16) })
      .optional()
      .describe('ConfigMaps, and tokens of the ServiceAccount, in one folder.'),
  }),
  {
    rule: '[has(self.csi), has(self.configMap), has(self.projected)].filter(x, x).size() == 1',
    message: 'needs exactly one of csi, configMap, projected',
    holds: ({ csi, configMap, projected }) =>
      [csi, configMap, projected].filter((source) => source !== undefined).length === 1,
  },
)
