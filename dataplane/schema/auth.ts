/** `gw.auth`: who may call beside the keys, by tokens that an issuer has signed or by a certificate. */
import { z } from 'zod'
import { name, text, url } from './fields.ts'
import { SCOPES } from './keys.ts'

/** Signatures with a pair of keys only: the key that checks one cannot make one. */
const ALGORITHMS = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ...['ES256', 'ES384', 'ES512', 'EdDSA'],
] as const

const pointer = () =>
  z
    .string()
    .max(512)
    .regex(/^\/.+$/, 'must be a JSON pointer such as /sub or /kubernetes.io~1namespace')

const Claim = z.strictObject({ claim: pointer().describe('JSON pointer to the claim.') })

const Listed = Claim.extend({
  map: z
    .record(z.string().max(253), z.array(name()).max(256))
    .optional()
    .describe('Value of the claim to names; absent: the value is the name.'),
})

const Jwks = z.strictObject({
  url: url().optional().describe("The issuer's key set, fetched in the background."),
  file: text().optional().describe('A file with the key set, read again every five minutes.'),
  keys: z
    .array(z.record(z.string().max(64), text()))
    .min(1)
    .max(100)
    .optional()
    .describe('The public keys themselves.'),
  kubernetes: z
    .literal(true)
    .optional()
    .describe('The keys of the own cluster, which the operator brings.'),
})

export const JwtIssuer = z.strictObject({
  name: name().describe('Names the issuer in logs, metrics and status.'),
  issuer: text().describe('The claim `iss`, exactly.'),
  audiences: z
    .array(text())
    .min(1)
    .max(32)
    .describe(
      'One of them must be in the claim `aud`: a token made for another service is refused.',
    ),
  jwks: Jwks.describe('Where the public keys are.'),
  algorithms: z
    .array(z.enum(ALGORITHMS))
    .min(1)
    .max(ALGORITHMS.length)
    .default(['RS256', 'ES256', 'EdDSA'])
    .describe('Signatures that are taken.'),
  require: z
    .record(pointer(), z.array(text()).min(1).max(1024))
    .default({})
    .describe('Claims by JSON pointer, and the values of which each must have one.'),
  tenant: z
    .strictObject({
      name: name().optional().describe('The tenant of all its tokens.'),
      claim: pointer().optional().describe('JSON pointer to the claim with the tenant.'),
      map: z
        .record(z.string().max(253), name())
        .optional()
        .describe('Value of the claim to tenant; absent: the value is the tenant.'),
    })
    .describe('The tenant that a token stands for, with its limits and budgets.'),
  id: Claim.default({ claim: '/sub' }).describe('Names the caller in logs and traces.'),
  routes: z
    .array(z.union([z.literal('*'), name()]))
    .min(1)
    .max(1024)
    .optional()
    .describe('Routes its tokens may use; ["*"] means all.'),
  routes_from: Listed.optional().describe('The claim that says which routes, instead of a list.'),
  scopes: z
    .array(z.enum(SCOPES))
    .min(1)
    .max(8)
    .default([...SCOPES])
    .describe('Permissions of its tokens; both if absent.'),
})

/** A URI, or a host; `/*` behind a URI stands for every path below it, `*.` before a host for one label. */
const SAN =
  /^([a-z][a-z0-9+.-]*:\/\/[^\s*,"/][^\s*,"]*(\/\*)?|(\*\.)?[a-z0-9_]([a-z0-9_-]*[a-z0-9])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9])?)*)$/

const ClientCertificates = z.strictObject({
  name: name().describe('Names the entry.'),
  san: z
    .array(
      z
        .string()
        .max(2048)
        .regex(
          SAN,
          'must be a URI such as spiffe://cluster.local/ns/team-a/*, or a host such as *.team-a.example, in lower case',
        ),
    )
    .min(1)
    .max(256)
    .describe(
      'Names in the certificate (URI or DNS), of which one is enough; `/*` stands for every path below, `*.` for one label.',
    ),
  tenant: name().describe('The tenant that it stands for, with its limits and budgets.'),
  routes: z
    .array(z.union([z.literal('*'), name()]))
    .min(1)
    .max(1024)
    .optional()
    .describe('Routes that it may use; all if absent.'),
  scopes: z
    .array(z.enum(SCOPES))
    .min(1)
    .max(8)
    .default([...SCOPES])
    .describe('Its permissions; both if absent.'),
})

export const Auth = z.strictObject({
  jwt: z
    .array(JwtIssuer)
    .max(16)
    .default([])
    .describe('Issuers whose tokens are taken beside keys, as `Authorization: Bearer`.'),
  certificates: z
    .array(ClientCertificates)
    .max(256)
    .default([])
    .describe(
      'Certificates of clients that take the place of a key; needs `gateway.tls.client_ca`.',
    ),
})

export type CertificateSettings = z.output<typeof ClientCertificates>

export type JwtSettings = z.output<typeof JwtIssuer>
