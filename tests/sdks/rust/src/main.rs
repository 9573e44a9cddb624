//! The operations of queues and blobs with the crates for Rust, which know neither keys nor tables:
//! a SAS opens the account.  Prints "ok NAME" or "FAILED NAME: why" for each; tests/sdks/run.py
//! counts the lines.

use azure_core::http::{RequestContent, Url};
use azure_storage_blob::models::{
    BlobClientDeleteOptions, BlockListType, BlockLookupList, DeleteSnapshotsOptionType,
};
use azure_storage_blob::{BlobContainerClient, BlobServiceClient};
use azure_storage_queue::models::QueueMessage;
use azure_storage_queue::QueueServiceClient;
use std::collections::HashMap;
use std::future::Future;

use futures::TryStreamExt;

type Outcome = Result<(), Box<dyn std::error::Error>>;

async fn check(name: &str, step: impl Future<Output = Outcome>) {
    match step.await {
        Ok(()) => println!("ok {name}"),
        Err(why) => {
            let why: String = format!("{why:?}").split_whitespace().collect::<Vec<_>>().join(" ");
            println!("FAILED {name}: {}", why.chars().take(500).collect::<String>());
        }
    }
}

fn same(wanted: &str, got: impl std::fmt::Display) -> Outcome {
    if wanted == got.to_string() {
        Ok(())
    } else {
        Err(format!("{got} instead of {wanted}").into())
    }
}

/// The answer must be a refusal with this status.
fn refused<T>(status: u16, answer: azure_core::Result<T>) -> Outcome {
    match answer {
        Ok(_) => Err(format!("{status} was expected, and it went well").into()),
        Err(error) => same(
            &status.to_string(),
            error.http_status().map(u16::from).unwrap_or_default(),
        ),
    }
}

fn address(variable: &str) -> Url {
    let sas = std::env::var("TAVOLA_SAS").expect("TAVOLA_SAS");
    let at = std::env::var(variable).expect("the address of a service");
    Url::parse(&format!("{at}?{sas}")).expect("a URL")
}

fn bytes(text: &str) -> RequestContent<azure_core::Bytes, azure_core::http::NoFormat> {
    RequestContent::from(text.as_bytes().to_vec())
}

async fn text(container: &BlobContainerClient, name: &str) -> Result<String, Box<dyn std::error::Error>> {
    let answer = container.blob_client(name).download(None).await?;
    Ok(String::from_utf8(answer.body.collect().await?.to_vec())?)
}

async fn queues() {
    let service = QueueServiceClient::new(address("TAVOLA_QUEUES"), None, None).expect("a client");
    let queue = service.queue_client("smoke").expect("a client");
    check("queue: create", async { Ok(queue.create(None).await.map(|_| ())?) }).await;
    check("queue: list", async {
        let names: Vec<String> = service
            .list_queues(None)?
            .map_ok(|queue| queue.name.unwrap_or_default())
            .try_collect()
            .await?;
        same("smoke", names.join(" "))
    })
    .await;
    check("queue: metadata", async {
        queue.set_metadata(&HashMap::from([("a".into(), "b".into())]), None).await?;
        queue.get_properties(None).await?;
        Ok(())
    })
    .await;
    check("queue: put, peek, get, update, delete", async {
        let message = QueueMessage { message_text: Some("hello <&> é".into()) };
        queue.send_message(message.try_into()?, None).await?;
        let peeked = queue.peek_messages(None).await?.into_model()?.items.unwrap_or_default();
        same("hello <&> é", peeked[0].message_text.clone().unwrap_or_default())?;
        let got = queue.receive_messages(None).await?.into_model()?.items.unwrap_or_default();
        let (id, receipt) = (got[0].message_id.clone().unwrap(), got[0].pop_receipt.clone().unwrap());
        same("hello <&> é", got[0].message_text.clone().unwrap_or_default())?;
        queue.update_message(&id, &receipt, 0, None).await?;
        let again = queue.receive_messages(None).await?.into_model()?.items.unwrap_or_default();
        queue.delete_message(&id, &again[0].pop_receipt.clone().unwrap(), None).await?;
        refused(404, queue.delete_message(&id, &again[0].pop_receipt.clone().unwrap(), None).await)
    })
    .await;
    check("queue: clear", async { Ok(queue.clear(None).await.map(|_| ())?) }).await;
    check("queue: service properties", async { Ok(service.get_properties(None).await.map(|_| ())?) }).await;
    check("queue: delete", async {
        queue.delete(None).await?;
        same("false", queue.exists().await?)
    })
    .await;
}

async fn blobs() {
    let service = BlobServiceClient::new(address("TAVOLA_BLOBS"), None, None).expect("a client");
    let container = service.blob_container_client("smoke");
    let blob = container.blob_client("a folder/é");
    check("container: create", async { Ok(container.create(None).await.map(|_| ())?) }).await;
    check("container: metadata, properties", async {
        container.set_metadata(&HashMap::from([("a".into(), "b".into())]), None).await?;
        container.get_properties(None).await?;
        same("true", container.exists().await?)
    })
    .await;
    check("container: lease", async {
        container.acquire_lease(-1, None).await?;
        refused(412, container.delete(None).await)?;
        container.break_lease(None).await?;
        Ok(())
    })
    .await;
    check("blob: put, get, properties", async {
        blob.upload(bytes("hello"), None).await?;
        blob.get_properties(None).await?;
        same("hello", text(&container, "a folder/é").await?)
    })
    .await;
    check("blob: set headers and metadata", async {
        blob.set_metadata(&HashMap::from([("k".into(), "v".into())]), None).await?;
        blob.set_properties(None).await?;
        Ok(())
    })
    .await;
    check("blob: snapshot", async {
        blob.create_snapshot(None).await?;
        refused(409, blob.delete(None).await)
    })
    .await;
    check("blob: blocks", async {
        let blocks = container.blob_client("blocks").block_blob_client();
        for (id, part) in [(b"1", "one "), (b"2", "two")] {
            blocks.stage_block(id, part.len() as u64, bytes(part), None).await?;
        }
        let list = BlockLookupList { latest: Some(vec![b"2".to_vec(), b"1".to_vec()]), ..Default::default() };
        blocks.commit_block_list(list.try_into()?, None).await?;
        blocks.get_block_list(BlockListType::All, None).await?.into_model()?;
        same("twoone ", text(&container, "blocks").await?)
    })
    .await;
    check("blob: append", async {
        let log = container.blob_client("log").append_blob_client();
        log.create(None).await?;
        log.append_block(bytes("one"), 3, None).await?;
        log.append_block(bytes("two"), 3, None).await?;
        same("onetwo", text(&container, "log").await?)
    })
    .await;
    check("blob: copy", async {
        let source = blob.url().to_string();
        container.blob_client("copy").start_copy_from_url(source, None).await?;
        same("hello", text(&container, "copy").await?)
    })
    .await;
    check("blob: list", async {
        let names: Vec<String> = container
            .list_blobs(None)?
            .map_ok(|blob| blob.name.unwrap_or_default())
            .try_collect()
            .await?;
        same("a folder/é blocks copy log", names.join(" "))
    })
    .await;
    check("container: list", async {
        let names: Vec<String> = service
            .list_containers(None)?
            .map_ok(|container| container.name.unwrap_or_default())
            .try_collect()
            .await?;
        same("smoke", names.join(" "))
    })
    .await;
    check("blob: lease", async {
        blob.acquire_lease(-1, None).await?;
        refused(412, blob.set_metadata(&HashMap::new(), None).await)?;
        blob.break_lease(None).await?;
        Ok(())
    })
    .await;
    check("blob: service properties, account", async {
        service.get_properties(None).await?.into_model()?;
        service.get_account_info(None).await?;
        Ok(())
    })
    .await;
    check("blob: delete", async {
        let all = BlobClientDeleteOptions {
            delete_snapshots: Some(DeleteSnapshotsOptionType::Include),
            ..Default::default()
        };
        blob.delete(Some(all)).await?;
        same("false", blob.exists().await?)
    })
    .await;
    check("container: delete", async {
        container.delete(None).await?;
        same("false", container.exists().await?)
    })
    .await;
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    queues().await;
    blobs().await;
}
