//! Texture and surface objects. The structures of CUDA 11, 12 and 13 differ.

use crate::abi::error::{Error, Result};
use crate::abi::texture::{
    Resource, ResourceDescription, ResourceDescription13, TextureDescription, TextureDescription11,
    ViewDescription, ViewDescription13,
};
use crate::abi::{In, Out, SurfaceObject, TextureObject};
use crate::api::entry::api;
use crate::objects::texture::TextureParts;
use crate::session::simulator::simulator;

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
    /// Makes a texture object, as CUDA 11 describes it.
    fn texture_object_11(
        pTexObject: Out<TextureObject>, pResDesc: In<ResourceDescription>, pTexDesc: In<TextureDescription11>,
        pResViewDesc: In<ViewDescription>,
    ) {
        create(pTexObject, pResDesc.get()?.resource()?, pTexDesc.get()?.into(), pResViewDesc.get_if_given())
    }

    /// Makes a texture object, as CUDA 12 describes it.
    fn texture_object_12(
        pTexObject: Out<TextureObject>, pResDesc: In<ResourceDescription>, pTexDesc: In<TextureDescription>,
        pResViewDesc: In<ViewDescription>,
    ) {
        create(pTexObject, pResDesc.get()?.resource()?, pTexDesc.get()?, pResViewDesc.get_if_given())
    }

    /// Makes a texture object, as CUDA 13 describes it.
    fn texture_object_13(
        pTexObject: Out<TextureObject>, pResDesc: In<ResourceDescription13>, pTexDesc: In<TextureDescription>,
        pResViewDesc: In<ViewDescription13>,
    ) {
        let view = pResViewDesc.get_if_given().map(|view| view.view);
        create(pTexObject, pResDesc.get()?.resource()?, pTexDesc.get()?, view)
    }

    /// Forgets a texture object.
    fn cudaDestroyTextureObject(texObject: TextureObject) { simulator()?.destroy_texture(texObject) }

    /// What a texture object reads, as CUDA 11 and 12 describe it.
    fn texture_resource_11(pResDesc: Out<ResourceDescription>, texObject: TextureObject) {
        pResDesc.set(simulator()?.texture_parts(texObject)?.resource.into())
    }

    /// What a texture object reads, as CUDA 13 describes it.
    fn texture_resource_13(pResDesc: Out<ResourceDescription13>, texObject: TextureObject) {
        pResDesc.set(simulator()?.texture_parts(texObject)?.resource.into())
    }

    /// How a texture object is read, as CUDA 11 describes it.
    fn texture_description_11(pTexDesc: Out<TextureDescription11>, texObject: TextureObject) {
        pTexDesc.set(simulator()?.texture_parts(texObject)?.texture.common)
    }

    /// How a texture object is read, as CUDA 12 and 13 describe it.
    fn texture_description_12(pTexDesc: Out<TextureDescription>, texObject: TextureObject) {
        pTexDesc.set(simulator()?.texture_parts(texObject)?.texture)
    }

    /// The view of a texture object, as CUDA 11 and 12 describe it.
    fn texture_view_11(pResViewDesc: Out<ViewDescription>, texObject: TextureObject) {
        pResViewDesc.set(view_of(texObject)?)
    }

    /// The view of a texture object, as CUDA 13 describes it.
    fn texture_view_13(pResViewDesc: Out<ViewDescription13>, texObject: TextureObject) {
        pResViewDesc.set(ViewDescription13 { view: view_of(texObject)?, reserved: [0; 16] })
    }

    /// Makes a surface object, as CUDA 11 and 12 describe it.
    fn surface_object_11(pSurfObject: Out<SurfaceObject>, pResDesc: In<ResourceDescription>) {
        create_surface(pSurfObject, pResDesc.get()?.resource()?)
    }

    /// Makes a surface object, as CUDA 13 describes it.
    fn surface_object_13(pSurfObject: Out<SurfaceObject>, pResDesc: In<ResourceDescription13>) {
        create_surface(pSurfObject, pResDesc.get()?.resource()?)
    }

    /// Forgets a surface object.
    fn cudaDestroySurfaceObject(surfObject: SurfaceObject) { simulator()?.destroy_surface(surfObject) }

    /// What a surface object accesses, as CUDA 11 and 12 describe it.
    fn surface_resource_11(pResDesc: Out<ResourceDescription>, surfObject: SurfaceObject) {
        pResDesc.set(simulator()?.surface_resource(surfObject)?.into())
    }

    /// What a surface object accesses, as CUDA 13 describes it.
    fn surface_resource_13(pResDesc: Out<ResourceDescription13>, surfObject: SurfaceObject) {
        pResDesc.set(simulator()?.surface_resource(surfObject)?.into())
    }
}
