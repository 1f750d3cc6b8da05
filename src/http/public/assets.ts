export function defaultPictures(publicUrl: string) {
  return {
    profile: `${publicUrl}/assets/profile-picture.png`,
    icon: `${publicUrl}/assets/category-icon.png`,
    banner: `${publicUrl}/assets/category-banner.png`,
  };
}
