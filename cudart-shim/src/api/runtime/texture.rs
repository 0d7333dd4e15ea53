//! Texture and surface objects. The structures of CUDA 11, 12 and 13 differ.

use crate::abi::error::{Error, Result};
use crate::abi::texture::{
    Resource, ResourceDescription, ResourceDescription13, TextureDescription, TextureDescription11,
    ViewDescription, ViewDescription13,
};
use crate::abi::{In, Out, SurfaceObject, TextureObject};
use crate::api::entry::api;
use crate::objects::texture::TextureParts;
use crate::root::simulator;

fn create(
    object: Out<TextureObject>,
    resource: Resource,
    texture: TextureDescription,
    view: Option<ViewDescription>,
) -> Result<()> {
    object.check()?;
    object.set(simulator()?.create_texture(TextureParts { resource, texture, view })?)
}

fn create_surface(object: Out<SurfaceObject>, resource: Resource) -> Result<()> {
    object.check()?;
    object.set(simulator()?.create_surface(resource)?)
}

fn view_of(object: TextureObject) -> Result<ViewDescription> {
    simulator()?.texture_parts(object)?.view.ok_or(Error::InvalidValue)
}

api! { Runtime;
    /// Makes a texture object from CUDA 11's structures.
    fn texture_object_11(
        pTexObject: Out<TextureObject>, pResDesc: In<ResourceDescription>, pTexDesc: In<TextureDescription11>,
        pResViewDesc: In<ViewDescription>,
    ) {
        create(pTexObject, pResDesc.get()?.resource()?, pTexDesc.get()?.into(), pResViewDesc.get_if_given())
    }

    /// Makes a texture object from CUDA 12's structures.
    fn texture_object_12(
        pTexObject: Out<TextureObject>, pResDesc: In<ResourceDescription>, pTexDesc: In<TextureDescription>,
        pResViewDesc: In<ViewDescription>,
    ) {
        create(pTexObject, pResDesc.get()?.resource()?, pTexDesc.get()?, pResViewDesc.get_if_given())
    }

    /// Makes a texture object from CUDA 13's structures.
    fn texture_object_13(
        pTexObject: Out<TextureObject>, pResDesc: In<ResourceDescription13>, pTexDesc: In<TextureDescription>,
        pResViewDesc: In<ViewDescription13>,
    ) {
        let view = pResViewDesc.get_if_given().map(|view| view.view);
        create(pTexObject, pResDesc.get()?.resource()?, pTexDesc.get()?, view)
    }

    /// Destroys a texture object.
    fn cudaDestroyTextureObject(texObject: TextureObject) { simulator()?.destroy_texture(texObject) }

    /// Resource of a texture object, in CUDA 11's and 12's structure.
    fn texture_resource_11(pResDesc: Out<ResourceDescription>, texObject: TextureObject) {
        pResDesc.set(simulator()?.texture_parts(texObject)?.resource.into())
    }

    /// Resource of a texture object, in CUDA 13's structure.
    fn texture_resource_13(pResDesc: Out<ResourceDescription13>, texObject: TextureObject) {
        pResDesc.set(simulator()?.texture_parts(texObject)?.resource.into())
    }

    /// Sampler of a texture object, in CUDA 11's structure.
    fn texture_description_11(pTexDesc: Out<TextureDescription11>, texObject: TextureObject) {
        pTexDesc.set(simulator()?.texture_parts(texObject)?.texture.common)
    }

    /// Sampler of a texture object, in CUDA 12's and 13's structure.
    fn texture_description_12(pTexDesc: Out<TextureDescription>, texObject: TextureObject) {
        pTexDesc.set(simulator()?.texture_parts(texObject)?.texture)
    }

    /// View of a texture object, in CUDA 11's and 12's structure.
    fn texture_view_11(pResViewDesc: Out<ViewDescription>, texObject: TextureObject) {
        pResViewDesc.set(view_of(texObject)?)
    }

    /// View of a texture object, in CUDA 13's structure.
    fn texture_view_13(pResViewDesc: Out<ViewDescription13>, texObject: TextureObject) {
        pResViewDesc.set(ViewDescription13 { view: view_of(texObject)?, reserved: [0; 16] })
    }

    /// Makes a surface object from CUDA 11's and 12's structure.
    fn surface_object_11(pSurfObject: Out<SurfaceObject>, pResDesc: In<ResourceDescription>) {
        create_surface(pSurfObject, pResDesc.get()?.resource()?)
    }

    /// Makes a surface object from CUDA 13's structure.
    fn surface_object_13(pSurfObject: Out<SurfaceObject>, pResDesc: In<ResourceDescription13>) {
        create_surface(pSurfObject, pResDesc.get()?.resource()?)
    }

    /// Destroys a surface object.
    fn cudaDestroySurfaceObject(surfObject: SurfaceObject) { simulator()?.destroy_surface(surfObject) }

    /// Resource of a surface object, in CUDA 11's and 12's structure.
    fn surface_resource_11(pResDesc: Out<ResourceDescription>, surfObject: SurfaceObject) {
        pResDesc.set(simulator()?.surface_resource(surfObject)?.into())
    }

    /// Resource of a surface object, in CUDA 13's structure.
    fn surface_resource_13(pResDesc: Out<ResourceDescription13>, surfObject: SurfaceObject) {
        pResDesc.set(simulator()?.surface_resource(surfObject)?.into())
    }
}
