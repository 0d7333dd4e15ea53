//! Texture and surface objects.

use crate::abi::error::Error;
use crate::abi::texture::{DriverResource, DriverTexture, ViewDescription13};
use crate::abi::{In, Out, SurfaceObject, TextureObject};
use crate::api::entry::api;
use crate::objects::texture::TextureParts;
use crate::root::simulator;

api! { Driver;
    /// Makes a texture object.
    fn cuTexObjectCreate(
        pTexObject: Out<TextureObject>, pResDesc: In<DriverResource>, pTexDesc: In<DriverTexture>,
        pResViewDesc: In<ViewDescription13>,
    ) {
        pTexObject.check()?;
        let simulator = simulator()?;
        let (resource, texture) = (pResDesc.get()?.resource()?, pTexDesc.get()?.into());
        let view = pResViewDesc.get_if_given().map(|view| view.view);
        // 32-bit integers are never read as floats, whatever the flags.
        let mut parts = TextureParts { resource, texture, view };
        let format = simulator.texture(&parts)?.image.format;
        if format.bits == 32 && !format.is_float() {
            parts.texture.common.read_mode = 0;
        }
        pTexObject.set(simulator.create_texture(parts)?)
    }

    /// Destroys a texture object.
    fn cuTexObjectDestroy(texObject: TextureObject) { simulator()?.destroy_texture(texObject) }

    /// Resource of a texture object.
    fn cuTexObjectGetResourceDesc(pResDesc: Out<DriverResource>, texObject: TextureObject) {
        pResDesc.set(simulator()?.texture_parts(texObject)?.resource.into())
    }

    /// Sampler of a texture object.
    fn cuTexObjectGetTextureDesc(pTexDesc: Out<DriverTexture>, texObject: TextureObject) {
        pTexDesc.set(simulator()?.texture_parts(texObject)?.texture.into())
    }

    /// The view of a texture object.
    fn cuTexObjectGetResourceViewDesc(pResViewDesc: Out<ViewDescription13>, texObject: TextureObject) {
        let view = simulator()?.texture_parts(texObject)?.view.ok_or(Error::InvalidValue)?;
        pResViewDesc.set(ViewDescription13 { view, reserved: [0; 16] })
    }

    /// Makes a surface object.
    fn cuSurfObjectCreate(pSurfObject: Out<SurfaceObject>, pResDesc: In<DriverResource>) {
        pSurfObject.check()?;
        pSurfObject.set(simulator()?.create_surface(pResDesc.get()?.resource()?)?)
    }

    /// Destroys a surface object.
    fn cuSurfObjectDestroy(surfObject: SurfaceObject) { simulator()?.destroy_surface(surfObject) }

    /// Resource of a surface object.
    fn cuSurfObjectGetResourceDesc(pResDesc: Out<DriverResource>, surfObject: SurfaceObject) {
        pResDesc.set(simulator()?.surface_resource(surfObject)?.into())
    }
}
