declare module "*.sql" {
  const text: string;
  export default text;
}
declare module "*.md" {
  const text: string;
  export default text;
}
declare module "*.png" {
  const path: string;
  export default path;
}
declare module "*/standalone.js" {
  const path: string;
  export default path;
}
declare module "*.bash" {
  const text: string;
  export default text;
}
declare module "*.fish" {
  const text: string;
  export default text;
}
declare module "*.zsh" {
  const text: string;
  export default text;
}
