import { hexColor, nonEmpty, pictureFile, type SettingTable, yesOrNo } from "./setting-values.ts";

/** Settings of the portal for developers of applications. */
export const portalSettings = {
  portal: {
    default: "false",
    help: "serve the portal for developers of applications at /portal of the public listener",
    read: yesOrNo,
  },
  portalName: {
    value: "NAME",
    default: "On Air",
    help: "what the portal calls the platform",
    read: nonEmpty,
  },
  portalAccent: {
    value: "COLOR",
    default: null,
    help: "accent colour of the portal, like #1a73e8",
    read: hexColor,
  },
  portalLogo: {
    value: "FILE",
    default: null,
    help: "logo of the portal: an SVG, PNG, JPEG or WebP file",
    read: pictureFile,
  },
  portalLogin: {
    value: "APP",
    default: null,
    help: "application as which the portal sends owners of applications to the login of --login-url",
    read: nonEmpty,
  },
} satisfies SettingTable;
